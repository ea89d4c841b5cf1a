// SPDX-License-Identifier: BSL-1.0
// winking_scope: a scope in which this thread runs destructors that wink_out would have skipped. What they free must be
// memory of that pool.
//
//   wink_out in checked mode:  scope(pool) ─▶ destructor ─▶ deallocate of pool              as it should be
//                                                        ─▶ deallocate of another checked    wink-out of an owner
//                                                        ─▶ operator delete, if watched      wink-out of an owner
//
// Operator delete is watched in programs that contain wrap/watched_operators.cpp: executables built with the CMake
// option MILLPOND_MODE=checked do; others add that file to their sources. It does not see memory freed another way
// (free, munmap, an allocator that is not checked), files or locks: it detects, it cannot prove.
//
// O(1). Thread-safe: each thread has its own.
//
// Example:
//     millpond::checked<millpond::monotonic<>> pool;
//     const millpond::winking_scope scope(&pool);
//     assert(millpond::winking_scope::pool() == &pool);
#pragma once

#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>

#include "../core/abi.hpp"
#include "misuse.hpp"

namespace millpond::inline MILLPOND_ABI {

class winking_scope {
  public:
    // `pool`: the checked allocator whose object is winked out; null pauses an outer scope, for work of our own.
    explicit winking_scope(const void* pool) noexcept : outer_(pool_) { pool_ = pool; }
    winking_scope(const winking_scope&) = delete;
    winking_scope& operator=(const winking_scope&) = delete;
    ~winking_scope() { pool_ = outer_; }

    // Returns: the pool of the innermost scope of this thread, or null.
    [[nodiscard]] static const void* pool() noexcept { return pool_; }

    // Effects: inside a scope, reports that `block` is given to another owner than the pool; otherwise does nothing.
    static void note_freed_elsewhere(const void* block, const char* by, call_site site) noexcept {
        if (pool_ == nullptr || block == nullptr) return;
        const winking_scope paused(nullptr);
        misuse found{.kind = misuse_kind::owner_winked_out, .block = block, .detected_at = site};
        std::snprintf(found.details, sizeof found.details,
                      "the destructor that is skipped gives %p to %s; in release mode that is never freed", block, by);
        misuse_handler(found);
    }

  private:
    static inline thread_local constinit const void* pool_ = nullptr;
    const void* outer_;
};

}  // namespace millpond::inline MILLPOND_ABI

namespace millpond::inline MILLPOND_ABI::detail {

// An allocator that checks its own blocks.
template <class A>
concept block_checker = requires(A& allocator) {
    { allocator.expect_empty() } noexcept;
};

// Returns: the checked allocator in `pool`, which may be wrapped or bound; null if `pool` contains none.
template <class A>
[[nodiscard]] auto checker_in(A& pool) noexcept {
    if constexpr (block_checker<A>) {
        return &pool;
    } else if constexpr (requires { pool.target(); }) {
        return checker_in(pool.target());
    } else if constexpr (requires { pool.unlocked(); }) {
        return checker_in(pool.unlocked());
    } else {
        return static_cast<const void*>(nullptr);
    }
}

template <class A>
inline constexpr bool is_checked = !std::is_same_v<decltype(checker_in(std::declval<A&>())), const void*>;

}  // namespace millpond::inline MILLPOND_ABI::detail
