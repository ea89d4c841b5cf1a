// SPDX-License-Identifier: BSL-1.0
// call_scope: the arena of one call, in a stack of those of this thread.
//
//   current ─▶ innermost scope ──outer──▶ scope ──outer──▶ null        arena(): its own, or the outermost one's
#pragma once

#include <cstddef>
#include <utility>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../../bind/resource.hpp"
#include "../../core/abi.hpp"
#include "../../local/monotonic.hpp"
#include "../../wrap/in_mode.hpp"
#include "new_arena.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// Place: keeps the scopes of different places apart. SharesOutermost: inner scopes use the arena of the outermost.
template <class Place, std::size_t FirstBytes, bool SharesOutermost>
class call_scope {
  public:
    using pool_type = in_mode<monotonic<>>;

    call_scope() : outer_(std::exchange(innermost(), this)), arena_(first_arena(outer_)), resource_(*arena_) {}
    ~call_scope() { innermost() = outer_; }
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

    // Returns: the arena that containers use which are made in this scope.
    [[nodiscard]] pool_type& arena() noexcept { return *arena_; }
    // Returns: the same for containers of std::pmr.
    [[nodiscard]] std::pmr::memory_resource* resource() noexcept { return &resource_; }

    // Returns: the innermost scope of this thread, or null.
    [[nodiscard]] static call_scope* current() noexcept { return innermost(); }
    [[nodiscard]] static pool_type* current_arena() noexcept {
        return current() != nullptr ? current()->arena_ : nullptr;
    }
    [[nodiscard]] static std::pmr::memory_resource* current_resource() noexcept {
        return current() != nullptr ? current()->resource() : std::pmr::new_delete_resource();
    }

  private:
    [[nodiscard]] static call_scope*& innermost() noexcept {
        thread_local constinit call_scope* scope = nullptr;
        return scope;
    }
    [[nodiscard]] pool_type* first_arena(call_scope* outer) noexcept {
        if constexpr (SharesOutermost) {
            if (outer != nullptr) return outer->arena_;
        }
        return &own_.arena;
    }

    new_arena<FirstBytes> own_;
    call_scope* outer_;
    pool_type* arena_;
    millpond::resource<pool_type&> resource_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
