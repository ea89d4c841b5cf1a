// SPDX-License-Identifier: BSL-1.0
// thread_state: what the router keeps for each thread: its finder of contexts and its line of counters.
//
// Lies in static thread-local storage, started at the first allocation that needs it, ended by a destructor of
// thread-specific data. A thread that allocates after that starts again, and so does the thread of a child, with a line
// of the child's. The address of the state names the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "lab/trial/control.hpp"
#include "preload/context_finder.hpp"

namespace millpond::trial {

struct thread_state {
    static constexpr std::uint32_t never = ~std::uint32_t{0};

    thread_counters* counters = nullptr;
    std::uint32_t generation = never;  // of the process that the counters belong to, as process_words has it
    bool has_finder = false;
    bool finding = false;  // a signal handler that allocates meanwhile must not enter the finder
    alignas(preload::context_finder) std::byte finder_storage[sizeof(preload::context_finder)] = {};

    preload::context_finder& finder() noexcept {
        return *std::launder(reinterpret_cast<preload::context_finder*>(finder_storage));
    }
    [[nodiscard]] std::uintptr_t id() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
};

}  // namespace millpond::trial
