// SPDX-License-Identifier: BSL-1.0
// call_assembly: puts the calls to the allocator together from the records of a stream (stream.h).
//
//   enter f │ free a │ …allocator… │ leave │                       a free
//   enter f │          …allocator… │ leave │ free a │ allocate b   a realloc
//   enter f │          …allocator… │ leave │ references            a call without a result
//
// A call is complete at its leave and the records that follow at once: only then is its result known. Calls come out in
// that order, even if threads take turns inside them. A signal handler suspends its thread's call. Pass each step of a
// reader first to ended_before() and then to ended_by(). O(1) a step. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lab/references/reader.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::layout {

struct allocator_call {
    std::uint64_t thread = 0;  // as numbered in the recording
    std::uint64_t entry = 0;   // millpond_entry
    bool is_early = false;     // begun before main
    bool frees = false;        // its free has come; `freed` holds what the caller knows of the object
    bool frees_by_realloc = false;
    std::uint64_t freed = 0;
    bool allocates = false;
    std::uint64_t address = 0, bytes = 0, context = 0, flags = 0;  // as in the allocate record

    unsigned function() const { return millpond_entry_function(entry); }
};

// Returns whether this may be the call by which the dynamic linker allocates the variables of a new thread. Its size
// depends on the modules.
bool may_start_a_thread(const allocator_call& call, const trace::reader& trace);

class call_assembly {
  public:
    // `has_main`: the stream marks the start of main (millpond_record_gap of 0); calls before it are early ones.
    explicit call_assembly(bool has_main) : is_early_(has_main) {}

    // Returns the call that ended before this step, without its record.
    std::optional<allocator_call> ended_before(const references::step& next);
    // Returns the call that ends with the record of this step. Calls `on_free(address)` as soon as an object is freed;
    // its result becomes `freed`.
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
                on_free(event.operands[0]);  // the recording began inside this call
            }
            return std::nullopt;
        }
        return take(of.thread, event);
    }
    // Returns the name, as in allocator_call, of the thread that has this number in the recording now.
    std::uint64_t name_of(std::uint64_t thread) const {
        const auto known = threads_.find(thread);
        return thread << 32 | (known == threads_.end() ? 0 : known->second.lives);
    }
    // Returns the last call of the stream.
    std::optional<allocator_call> ended_at_last();

  private:
    struct thread_calls {
        std::uint64_t lives = 0;  // ended threads that had this number
        std::optional<allocator_call> open;
        std::vector<std::optional<allocator_call>> suspended;
    };
    static constexpr std::size_t suspended_max = 64;

    allocator_call* open_of(std::uint64_t thread);
    std::optional<allocator_call> take(std::uint64_t thread, const references::stream_event& event);
    void resume(thread_calls& calls, bool in_allocator);

    bool is_early_;
    std::optional<allocator_call> closing_;  // left, and followed only by its own records so far
    std::unordered_map<std::uint64_t, thread_calls> threads_;
};

}  // namespace millpond::layout
