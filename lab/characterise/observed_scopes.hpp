// SPDX-License-Identifier: BSL-1.0
// observed_scopes: legality from activations whose begins and ends are all in the trace (notes entered, left, scope).
//
//   thread 1   main │ parse │ parse │         the activations that run now
//   serial       1  │   7   │   9   │         the moment each began, rising inward
//   object     born at 8 within main ─ parse; ends while main │ run (9 and 7 have ended) ─▶ has outlived parse
//
// An object belongs to every activation that runs on its thread when it is allocated. If a function calls itself, an
// arena may belong to the *outermost* activation, made by the first call, or to the *innermost*, made by every call. A
// function is legal if no object outlives either, and legal for its outermost call if no object outlives that. Objects
// alive at the end of the trace have not outlived the activations that run then. Use: consume() every batch, then
// finish(). O(log depth) an event. Memory grows with live objects and with different stacks of observed functions. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/characterise/histogram.hpp"
#include "lab/characterise/legality_record.hpp"
#include "lab/symbols/context_functions.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// The counts of a function, over all threads.
struct observed_function {
    std::uint32_t state = 0;                   // mpt_scope_state
    std::uint64_t calls = 0, activations = 0;  // activations: outermost calls
    std::uint64_t depth_max = 0;               // the most nested calls of it on one thread
};

// The counts of a function and a subsystem.
struct observed_pair {
    std::uint64_t enclosed = 0;            // objects
    std::uint64_t outlived = 0;            // of these, their innermost activation
    std::uint64_t outlived_outermost = 0;  // and their outermost
    std::uint64_t left = 0;                // never freed although their innermost activation had ended
    std::uint64_t left_outermost = 0;      // and their outermost
    std::uint64_t running = 0;             // alive at the end of the trace, within their outermost activation
    histogram activation_bytes;            // of each activation in which the subsystem asked for any
    std::vector<witness> witnesses;
};

class observed_scopes {
  public:
    observed_scopes(const symbols::context_functions& functions, const symbols::subsystem_map& subsystems)
        : functions_(functions), subsystems_(subsystems) {}

    void consume(const trace::event* batch, std::size_t count);
    // `lost`: the number of missing events; if it is not 0, nothing counts as observed.
    void finish(std::uint64_t lost);

    // Null: no probe was placed there.
    const observed_function* function(std::uint32_t id) const;
    // Null: the function never ran around an allocation of the subsystem.
    const observed_pair* pair(std::uint32_t subsystem, std::uint32_t function) const;
    bool any() const { return !by_function_.empty(); }
    // The reason why a function is not observed, as text; empty if it is.
    static std::string reason(const observed_function* function);
    static constexpr std::uint32_t lost_events = 255;  // a state beyond those of the trace

  private:
    static constexpr std::size_t witnesses_max = 3;

    // A stack of observed functions: the one below it, and the innermost function.
    struct stack_node {
        std::uint32_t outer, function, depth;
    };
    struct activation {
        std::uint32_t function, stack;
        std::uint64_t serial;
        std::vector<std::pair<std::uint32_t, std::uint64_t>> bytes;  // by subsystem
    };
    struct object {
        std::uint64_t birth, bytes, tick;
        std::uint32_t stack, context, thread;
    };
    struct outliving_key {
        std::uint32_t stack, subsystem, surviving;
        bool freed;
        auto operator<=>(const outliving_key&) const = default;
    };
    using running = std::vector<activation>;

    void note(const trace::event& e);
    void allocate(const trace::event& e);
    void ended(const object& o, std::uint64_t tick, std::uint32_t by);
    std::size_t surviving(const object& o) const;
    void outlived(const object& o, std::size_t surviving, std::uint64_t tick, std::uint32_t by);
    void enter(running& thread, std::uint32_t function);
    void leave(running& thread);
    running& thread(std::uint32_t number);
    // Calls visit(function, depth of its outermost, depth of its innermost) for each function of a stack.
    template <class Visit>
    void for_each_function(std::uint32_t stack, Visit&& visit) const;

    const symbols::context_functions& functions_;
    const symbols::subsystem_map& subsystems_;
    std::unordered_map<std::uint32_t, observed_function> by_function_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, observed_pair> pairs_;
    std::vector<stack_node> stacks_{{0, 0, 0}};
    std::unordered_map<std::uint64_t, std::uint32_t> stack_of_;
    std::unordered_map<std::uint64_t, std::uint64_t> births_;  // by stack and subsystem
    std::map<outliving_key, std::uint64_t> outlived_;
    std::vector<running> threads_;
    trace::live_objects<object> live_;
    std::uint64_t clock_ = 0;
};

}  // namespace millpond::characterise
