// SPDX-License-Identifier: BSL-1.0
// call_assembly: puts the calls of the allocator together again from the records of a stream (stream.h).
//
//   enter f │ free a │ …allocator… │ leave │                       a free
//   enter f │          …allocator… │ leave │ free a │ allocate b   a realloc that moved, or stayed
//   enter f │          …allocator… │ leave │ references            one that gave nothing
//
// A call is whole at its leave and the records that follow at once; only then does anybody know what it gave. Calls
// come out in that order, also where threads take turns inside of them. A signal handler suspends its thread's call.
// Feed each step of a reader to ended_before() and then to ended_by(). O(1) a step. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lab/references/reader.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::layout {

struct allocator_call {
    std::uint64_t thread = 0;  // as the recording numbers them
    std::uint64_t entry = 0;   // millpond_entry
    bool is_early = false;     // begun before main
    bool frees = false;        // its free has been seen: what the caller knows of the object is in `freed`
    bool frees_by_realloc = false;
    std::uint64_t freed = 0;
    bool allocates = false;
    std::uint64_t address = 0, bytes = 0, context = 0, flags = 0;  // as the allocate record has them

    unsigned function() const { return millpond_entry_function(entry); }
};

// Whether the dynamic linker makes the call: for the variables of a new thread, if one appears then. How many bytes
// depends on the modules.
bool may_start_a_thread(const allocator_call& call, const trace::reader& trace);

class call_assembly {
  public:
    // `has_main`: the stream says where main begins (millpond_record_gap of 0), and calls before are early ones.
    explicit call_assembly(bool has_main) : is_early_(has_main) {}

    // The call that ended without what this step holds.
    std::optional<allocator_call> ended_before(const references::step& next);
    // The call that ends with the record of this step. `on_free(address)` is called when an object is freed, at once: a
    // number for `freed`.
    template <class OnFree>
    std::optional<allocator_call> ended_by(const references::step& of, const OnFree& on_free) {
        const references::stream_event& event = of.event;
        if (event.record == millpond_record_none) return std::nullopt;
        if (event.record == millpond_record_free) {
            if (allocator_call* const freeing = closing_ ? &*closing_ : open_of(of.thread)) {
                freeing->frees = true;
                freeing->frees_by_realloc = closing_.has_value();
                freeing->freed = on_free(event.operands[0]);
            } else {
                on_free(event.operands[0]);  // the recording begins within its call
            }
            return std::nullopt;
        }
        return take(of.thread, event);
    }
    // As allocator_call names it, the thread that has this number in the recording now.
    std::uint64_t name_of(std::uint64_t thread) const {
        const auto known = threads_.find(thread);
        return thread << 32 | (known == threads_.end() ? 0 : known->second.lives);
    }
    // The last call of the stream.
    std::optional<allocator_call> ended_at_last();

  private:
    struct thread_calls {
        std::uint64_t lives = 0;  // threads of this number that have ended
        std::optional<allocator_call> open;
        std::vector<std::optional<allocator_call>> suspended;
    };
    static constexpr std::size_t suspended_max = 64;

    allocator_call* open_of(std::uint64_t thread);
    std::optional<allocator_call> take(std::uint64_t thread, const references::stream_event& event);
    void resume(thread_calls& calls, bool in_allocator);

    bool is_early_;
    std::optional<allocator_call> closing_;  // left, and nothing but its records has come since
    std::unordered_map<std::uint64_t, thread_calls> threads_;
};

}  // namespace millpond::layout
