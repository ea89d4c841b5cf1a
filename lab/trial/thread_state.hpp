// SPDX-License-Identifier: BSL-1.0
// thread_state: what the router keeps for each thread: its finder of contexts and its line of counters.
//
// Lies in static thread-local storage, zero at the start of a thread, started at the first allocation that needs it,
// ended by a destructor of thread-specific data. A thread that allocates after that starts again. The address of the
// state names the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "lab/trial/control.hpp"
#include "preload/context_finder.hpp"

namespace millpond::trial {

struct thread_state {
    thread_counters* counters = nullptr;  // null: not started
    bool has_finder = false;
    bool finding = false;  // a signal handler that allocates meanwhile must not enter the finder
    alignas(preload::context_finder) std::byte finder_storage[sizeof(preload::context_finder)] = {};

    preload::context_finder& finder() noexcept {
        return *std::launder(reinterpret_cast<preload::context_finder*>(finder_storage));
    }
    [[nodiscard]] std::uintptr_t id() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
};

}  // namespace millpond::trial
