// SPDX-License-Identifier: BSL-1.0
// thread_arena: a place whose arena belongs to one thread, and ends with it.
//
//   thread 1 ─▶ arena 1       working::vector<int> found;   in the arena of the thread that makes the container
//   thread 2 ─▶ arena 2       the end of a thread frees everything in its arena at once
//
// Use it for threads that do one task and end: nothing is shared, allocation is an addition, a free is nothing. Do not
// use it for threads that live long, because an arena only grows, or for objects that another thread frees after the
// end of the first.
//
// FirstBytes: what the first chunk of each arena serves; 0 means the arena's own default.
// Members: pool() is the calling thread's arena (monotonic; in_mode applies) and current() points to it; resource() is
// the same for std::pmr; everything else as in scope_arena.hpp. A container stays with the arena of the thread that
// made it (arena_allocator.hpp). destroy belongs to the thread that called make.
//
// An arena is made at a thread's first use and takes its first chunk with the first block. allocate: O(1), with the
// check whether the thread has its arena. Each arena is for its own thread; the main thread's ends before static
// objects do, so these must not use it. A child made by fork keeps the arena of the thread that called it. Not for
// programs of mingw-w64's gcc, where thread-local objects end after their own memory (os/thread_end.hpp).
// Throws: everything throws std::bad_alloc, and what constructors throw.
//
// Example:
//     using working = millpond::advise::thread_arena<struct working_tag>;
//     std::thread([] {
//         working::vector<int> found{1, 2, 3};
//         assert(found.get_allocator().target() == &working::pool());
//     }).join();
#pragma once

#include <cstddef>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../bind/resource.hpp"
#include "../core/abi.hpp"
#include "../local/monotonic.hpp"
#include "../wrap/in_mode.hpp"
#include "detail/arena_place.hpp"
#include "detail/new_arena.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag, std::size_t FirstBytes = 0>
class thread_arena : public detail::arena_place<thread_arena<Tag, FirstBytes>> {
  public:
    using pool_type = in_mode<monotonic<>>;

    // Returns: the arena of the calling thread. What it gives must be freed before the thread ends.
    [[nodiscard]] static pool_type& pool() {
        thread_local detail::new_arena<FirstBytes> own;
        return own.arena;
    }
    [[nodiscard]] static pool_type* current() noexcept { return &pool(); }

    // Returns: the arena of the calling thread for containers of std::pmr, which must end with the thread.
    [[nodiscard]] static std::pmr::memory_resource* resource() {
        thread_local millpond::resource<pool_type&> own(pool());
        return &own;
    }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
