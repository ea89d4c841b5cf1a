// SPDX-License-Identifier: BSL-1.0
// call_observer: tells arena pools when calls of their functions begin and end.
//
//   function ─jump─▶ libmillpond-probes.so ─began─▶ call_observer ─begin_call─▶ arena_pool
//                    libmillpond-probes.so ◀─frame_continues─ call_observer ◀─ arena_pool: a frame further out
//                                          ─note: left──▶ call_observer ─end_call─▶ arena_pool
//
// The functions are those of the routes (route_scope_entry); millpond-trial names them to the probes in the same order,
// in an environment variable. Where the probes are not loaded, or cannot observe a function to its end (a shadow stack,
// an unloaded module), its pool continues without calls. A call costs some 50 ns, and 3 µs where no jump can be placed
// at the function's entry. All members are static: the probes' callbacks have no argument of ours. Thread-safe; called
// in signal handlers; allocates nothing.
#pragma once

#include <cstdint>

#include "lab/trial/pool.hpp"
#include "lab/trial/routes.hpp"

namespace millpond::trial {

class call_observer {
  public:
    // Makes the calling thread known under the name that the pools use. May be the first call in a forked child.
    using thread_namer = pool::thread_id (*)() noexcept;

    // Call once, when the pools are ready. They and the routes must outlive the process.
    static void start(const routes_view& routes, pool* pools, thread_namer this_thread) noexcept;

    // The frame with this stack pointer goes on: calls further in have ended. UINTPTR_MAX: the thread ends.
    static void frame_continues(std::uintptr_t stack) noexcept;

  private:
    static void began(std::uint32_t scope, std::uintptr_t place, bool trapped) noexcept;
    static bool note(unsigned subject, std::uint64_t value, bool anywhere) noexcept;
    static std::uint32_t scope(std::uintptr_t entry, unsigned number) noexcept;
    static void* room() noexcept;
    static void begin() noexcept;
    static arena_pool* arenas_of(std::uint64_t scope) noexcept;

    static constinit inline routes_view routes_;
    static inline pool* pools_ = nullptr;
    static inline thread_namer this_thread_ = nullptr;
};

}  // namespace millpond::trial
