// SPDX-License-Identifier: BSL-1.0
// wink_out: an object and all that it owns, built in a managed allocator and dropped with it without any destructor.
//
//   pool │header│ map │ node │ node │ text │ node │ …      the object itself lies in the pool, too
//                                                 drop ─▶  pool.release(): no node is visited again
//
// Use it for large structures whose destruction costs as much as their use: a tree of nodes is freed in O(chunks). Only
// types declared winkable are accepted (is_winkable.hpp); for a type that owns files, locks or memory elsewhere, let
// the destructor run. Until the object is dropped the allocator serves only this object and what it owns, because all
// its memory goes.
//
// Both bindings: over an allocator A with allocator<…, A>, over a resource<A> with std::pmr. The object is given the
// allocator by uses-allocator construction. Following P0089R0: section 3, and the even strategies of section 4.
//
// Over a checked allocator the destructors do run. What they free elsewhere would be lost in release mode and is
// reported (winking_scope.hpp lists what is seen). It detects; it cannot prove that no file or lock was owned.
//
// Construction: that of the object, and one allocation. Destruction: that of release. Not thread-safe.
//
// Example:
//     millpond::resource<millpond::monotonic<>> pool;
//     {
//         millpond::wink_out<std::pmr::list<int>, millpond::resource<millpond::monotonic<>>> numbers(pool);
//         for (int i = 0; i < 1000; ++i) numbers->push_back(i);
//     }  // 1000 nodes go at once, and the pool is empty
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../wrap/winking_scope.hpp"
#include "allocator.hpp"
#include "is_winkable.hpp"
#include "unique.hpp"

namespace millpond::inline MILLPOND_ABI {

template <class T, managed_allocator A>
class wink_out {
    static_assert(
        is_winkable_v<T>,
        "wink_out: the destructor of T may do more than free memory of this allocator; if it does not, say so by "
        "specialising millpond::is_winkable<T>");

  public:
    // Effects: constructs T in memory of `pool` from the arguments, with `pool` as its allocator where it takes one.
    // Throws: std::bad_alloc, and what the constructor throws; the pool then has its memory back, as after deallocate.
    // Ownership: refers to `pool`, which must outlive this and serve nothing else.
    template <class... Arguments>
    explicit wink_out(A& pool, Arguments&&... arguments) : pool_(pool) {
        detail::block_guard<A> memory(pool, sizeof(T), alignof(T));
        object_ =
            detail::construct_with(static_cast<T*>(memory.get()), bind(pool), std::forward<Arguments>(arguments)...);
        memory.take();
    }

    wink_out(const wink_out&) = delete;
    wink_out& operator=(const wink_out&) = delete;
    ~wink_out() { drop(); }

    // Effects: releases all memory of the pool; the object and all that it owned are gone, and no destructor has run. A
    // second call does nothing.
    void drop() noexcept {
        if (object_ == nullptr) return;
        T* const object = std::exchange(object_, nullptr);
        if constexpr (detail::is_checked<A>) {
            if (!detail::checker_in(pool_)->expect_alive()) return;
            const winking_scope scope(detail::checker_in(pool_));
            std::destroy_at(object);
            pool_.deallocate(object, sizeof(T), alignof(T));
            pool_.release();
        } else {
            pool_.release();
        }
    }

    // The object must not have been dropped.
    [[nodiscard]] T& operator*() const noexcept { return *operator->(); }
    [[nodiscard]] T* operator->() const noexcept {
        if constexpr (detail::is_checked<A>) {
            if (object_ == nullptr)
                detail::report_use(misuse_kind::dropped_object, "an object is used after wink_out has dropped it");
        }
        return object_;
    }

  private:
    [[nodiscard]] static auto bind(A& pool) noexcept {
        if constexpr (requires { pool.template binding<T>(); }) {
            return pool.template binding<T>();
        } else {
            return allocator<T, A>(&pool);
        }
    }

    A& pool_;
    T* object_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI
