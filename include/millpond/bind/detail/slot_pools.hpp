// SPDX-License-Identifier: BSL-1.0
// slot_pools: the state shared by copies of a suballocator: its upstream, and a compact_pool for each size of slot.
//
//   suballocator<int> ───┐               ┌▶ pool of 40-byte slots   set<int>'s nodes, list<array<char, 24>>'s nodes, …
//   suballocator<node> ──┴▶ slot_pools ──┴▶ pool of 24-byte slots   made when it is first asked for
//                            count of copies, the user's allocator: gives every chunk, and gets it back
//
// Part of suballocator. pool: O(sizes). Several threads may copy and drop at once, because reading a container does so;
// everything else is for one thread at a time. Ownership: the last copy gives all memory back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../../block/detail/extent_source.hpp"
#include "../../block/source_ref.hpp"
#include "../../block/std_source.hpp"
#include "../../core/abi.hpp"
#include "../../core/out_of_memory.hpp"
#include "../../local/compact_pool.hpp"
#include "../../wrap/in_mode.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Alloc, class Word>
class slot_pools {
    using source = std_source<Alloc>;
    using source_handle = source_ref<source>;
    struct empty_member {
        explicit empty_member(source&) noexcept {}
    };
    static constexpr bool has_extents = holds_freed_pages<Alloc>;
    using extents = std::conditional_t<has_extents, extent_source<source_handle>, empty_member>;
    using chunk_handle = source_ref<std::conditional_t<has_extents, extents, source>>;

    struct known_pool {
        std::size_t bytes;
        std::size_t alignment;
        known_pool* next;
        void (*drop)(slot_pools&, known_pool*) noexcept;
    };

    template <class Shape>
    struct pool_of : known_pool {
        explicit pool_of(slot_pools& owner)
            : known_pool{Shape::bytes, Shape::alignment, nullptr, &drop_this}, pool(owner.chunks()) {}
        static void drop_this(slot_pools& owner, known_pool* gone) noexcept {
            auto* const whole = static_cast<pool_of*>(gone);
            std::destroy_at(whole);
            owner.source_.deallocate(whole, sizeof(pool_of), alignof(pool_of));
        }
        in_mode<basic_compact_pool<Shape, chunk_handle>> pool;
    };

  public:
    template <class Shape>
    using pool_type = decltype(pool_of<Shape>::pool);

    // Returns: new pools with one copy, the caller's. Throws: what the allocator throws.
    [[nodiscard]] static slot_pools* make(const Alloc& upstream) {
        source from(upstream);
        void* const memory = from.allocate(sizeof(slot_pools), alignof(slot_pools));
        return ::new (memory) slot_pools(upstream);
    }

    slot_pools(const slot_pools&) = delete;
    slot_pools& operator=(const slot_pools&) = delete;

    void add_copy() noexcept { copies_.fetch_add(1, std::memory_order_relaxed); }

    // Effects: gives everything back when the last copy is dropped.
    void drop_copy() noexcept {
        if (copies_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        source from(upstream_);
        this->~slot_pools();
        from.deallocate(this, sizeof(slot_pools), alignof(slot_pools));
    }

    // Returns: the pool of slots of this shape. Throws: std::bad_alloc.
    template <class Shape>
    [[nodiscard]] pool_type<Shape>& pool() {
        for (known_pool* known = pools_; known != nullptr; known = known->next) {
            if (known->bytes == Shape::bytes && known->alignment == Shape::alignment)
                return static_cast<pool_of<Shape>*>(known)->pool;
        }
        void* const memory = source_.allocate(sizeof(pool_of<Shape>), alignof(pool_of<Shape>));
        auto* const made = ::new (memory) pool_of<Shape>(*this);
        made->next = std::exchange(pools_, made);
        return made->pool;
    }

    [[nodiscard]] const Alloc& upstream() const noexcept { return upstream_; }

    // Returns: the allocator of arrays in checked mode; in other modes arrays come directly from the upstream.
    [[nodiscard]] checked<source_handle>& arrays() noexcept
        requires is_checked_mode
    {
        return arrays_;
    }

  private:
    explicit slot_pools(const Alloc& upstream)
        : upstream_(upstream), source_(upstream), extents_(source_), arrays_(source_) {}
    ~slot_pools() {
        while (pools_ != nullptr) {
            known_pool* const gone = std::exchange(pools_, pools_->next);
            gone->drop(*this, gone);
        }
    }

    [[nodiscard]] auto& chunks() noexcept {
        if constexpr (has_extents) {
            return extents_;
        } else {
            return source_;
        }
    }

    std::atomic<std::size_t> copies_ = 1;
    known_pool* pools_ = nullptr;
    [[no_unique_address]] Alloc upstream_;
    source source_;
    [[no_unique_address]] extents extents_;
    [[no_unique_address]] std::conditional_t<is_checked_mode, checked<source_handle>, empty_member> arrays_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
