// SPDX-License-Identifier: BSL-1.0
// grouped_pool: the compact_pool of one container, in a group of pools between whose containers nodes have moved.
//
//   set a ──▶ pool A, the head ◀──forward── pool B ◀── set b       after a.merge(b): both allocate from A
//               └────────── ring ────────────┘                     a node of B that is freed is found through the ring
//
// A pool ends when no allocator refers to it and none of its slots is live. Its memory goes back then; or earlier, when
// its last slot is freed while an allocator still refers to it. So a live node keeps its own page or chunk, and the
// bookkeeping of its pool, but never the other pools of the group.
//
// allocate, deallocate: those of compact_pool, plus one addition. deallocate of a node of another pool: a small group
// is searched pool by pool, a large one has an index (pool_index), O(1). join: O(1), no allocation. For one thread
// only. Ownership: a pool is counted by the allocators that refer to it and by the pools that forward to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../../block/new_delete.hpp"
#include "../../block/std_source.hpp"
#include "../../core/abi.hpp"
#include "../../core/detail/kept_exception.hpp"
#include "../../local/compact_pool.hpp"
#include "../../wrap/in_mode.hpp"
#include "pool_index.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The source of a container's pools. std::allocator counts as operator new, so that a pool may reserve a range of its
// own.
template <class Upstream>
struct source_over {
    using type = std_source<Upstream>;
    [[nodiscard]] static type make(const Upstream& upstream) noexcept { return type(upstream); }
};
template <class T>
struct source_over<std::allocator<T>> {
    using type = new_delete;
    [[nodiscard]] static type make(const std::allocator<T>&) noexcept { return {}; }
};

// Upstream: an allocator of bytes.
template <class Shape, class Upstream>
class grouped_pool {
    using source = typename source_over<Upstream>::type;
    using slots = in_mode<basic_compact_pool<Shape, source>>;
    using index = pool_index<grouped_pool>;

  public:
    // Returns: a pool with one reference, the caller's. Throws: what the upstream throws.
    [[nodiscard]] static grouped_pool* make(const Upstream& upstream, std::size_t outside) {
        source from = source_over<Upstream>::make(upstream);
        void* const memory = from.allocate(sizeof(grouped_pool), alignof(grouped_pool));
        return ::new (memory) grouped_pool(from, outside);
    }

    grouped_pool(const grouped_pool&) = delete;
    grouped_pool& operator=(const grouped_pool&) = delete;

    // Several threads may call it at once, because reading a node handle may copy its allocator.
    void refer() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void leave() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1 && live_ == 0) end();
    }

    // Effects: ends `count` references that no destructor will end. Others remain.
    void forget_references(std::size_t count) noexcept { references_.fetch_sub(count, std::memory_order_relaxed); }

    // Throws: what the upstream throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const slot = slots_.allocate(bytes, alignment);
        ++live_;
        return slot;
    }

    // Effects: frees a slot of this pool. Returns: false if it is not a slot of this pool.
    [[nodiscard]] bool try_deallocate(void* slot, std::size_t bytes, std::size_t alignment) noexcept {
        if (!slots_.holds(slot)) [[unlikely]]
            return false;
        slots_.deallocate(slot, bytes, alignment);
        if (--live_ == 0) [[unlikely]]
            note_empty();
        return true;
    }

    // Effects: frees a slot of any other pool of the group; call it on the head. Returns: false if no pool has the
    // slot.
    [[nodiscard, gnu::noinline]] bool try_deallocate_elsewhere(void* slot, std::size_t bytes,
                                                               std::size_t alignment) noexcept {
        grouped_pool* const owner = find_other(slot);
        if (owner == nullptr) return false;
        return owner->try_deallocate(slot, bytes, alignment);
    }

    // Effects: in checked mode, reports the free of a node that lies in no pool of the group.
    void report_foreign(void* slot, std::size_t bytes, std::size_t alignment) noexcept {
        slots_.deallocate(slot, bytes, alignment);
    }

    // Returns: the pool that the group allocates from.
    [[nodiscard]] grouped_pool& head() noexcept {
        grouped_pool* pool = this;
        while (pool->forward_ != nullptr) pool = pool->forward_;
        return *pool;
    }
    [[nodiscard]] bool is_head() const noexcept { return forward_ == nullptr; }

    // Effects: joins two groups, given by their heads. Returns: the new head, the one with more live slots.
    [[nodiscard]] static grouped_pool& join(grouped_pool& a, grouped_pool& b) noexcept {
        if (&a == &b) return a;
        grouped_pool& head = a.live_ < b.live_ ? b : a;
        grouped_pool& other = a.live_ < b.live_ ? a : b;
        other.forward_ = &head;
        head.refer();
        head.outside_ += std::exchange(other.outside_, 0);
        head.adopt_index(other);
        std::swap(head.next_, other.next_);
        std::swap(head.next_->before_, other.next_->before_);
        if (other.live_ == 0) other.leave_ring();
        return head;
    }

    // The most live nodes that the containers of a group took from the upstream one by one.
    [[nodiscard]] std::size_t outside() const noexcept { return outside_; }
    void add_outside(std::size_t count) noexcept { outside_ += count; }
    void note_outside_freed() noexcept { outside_ -= outside_ != 0; }

    // Returns: true if a single allocator refers to the group. Call it on the head. O(pools with live slots).
    [[nodiscard]] bool is_alone() noexcept {
        if (references() > 1 + others_) return false;
        std::size_t forwarding = 0;
        for (grouped_pool* other = next_; other != this; other = other->next_, ++forwarding) {
            if (other->forward_ == this) continue;
            refer();
            std::exchange(other->forward_, this)->leave();
        }
        for (grouped_pool* other = next_; other != this; other = other->next_) {
            if (other->references() != 0) return false;
        }
        return references() == 1 + forwarding;
    }

    // Effects: drops all slots of the group with their memory. Call it on a head to which one allocator refers.
    void drop() noexcept {
        while (next_ != this) {
            next_->live_ = 0;
            next_->end();
        }
        live_ = 0;
        slots_.release();
    }

    // Effects: makes `bytes` of slots free, except in checked mode. Throws: what the upstream throws.
    void reserve([[maybe_unused]] std::size_t bytes) {
        if constexpr (!is_checked_mode) {
            kept_exception thrown;
            if (!slots_.try_reserve(bytes)) thrown.give_up(bytes, Shape::alignment);
        }
    }

    // Returns: true if the address lies in a pool of the group. Call it on the head.
    [[nodiscard]] bool lies_in_group(const void* address) noexcept {
        return slots_.holds(address) || find_other(address) != nullptr;
    }

    // Effects: calls each(pool) for every pool of the group that has live slots, and for this one.
    template <class Each>
    void for_each(Each each) const {
        const grouped_pool* pool = this;
        do {
            each(*pool);
            pool = pool->next_;
        } while (pool != this);
    }

    [[nodiscard]] bool holds(const void* address) noexcept { return slots_.holds(address); }
    template <class Each>
    void for_each_piece(Each each) const {
        slots_.for_each_piece(each);
    }

    [[nodiscard]] std::size_t references() const noexcept { return references_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t live() const noexcept { return live_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept {
        return sizeof *this + slots_.held_bytes() + index_.held_bytes();
    }

  private:
    grouped_pool(const source& from, std::size_t outside) : outside_(outside), slots_(from) {}
    ~grouped_pool() = default;

    // Effects: handles the free of the last slot.
    [[gnu::noinline]] void note_empty() noexcept {
        if (references() == 0) return end();
        if (is_head()) return;
        leave_ring();
        slots_.release();
    }

    void end() noexcept {
        leave_ring();
        index_.release(source_of());
        if (forward_ != nullptr) forward_->leave();
        source from = source_of();
        this->~grouped_pool();
        from.deallocate(this, sizeof(grouped_pool), alignof(grouped_pool));
    }

    // Effects: removes this pool, which has no live slot, from the ring.
    void leave_ring() noexcept {
        if (next_ == this) return;
        before_->next_ = next_;
        next_->before_ = before_;
        next_ = before_ = this;
        grouped_pool& of = head();
        --of.others_;
        if (number_ != index::none && known_to_ == of.serial_) {
            source from = of.source_of();
            of.index_.remove(from, number_);
        } else {
            --of.unknown_;
        }
    }

    [[nodiscard]] source& source_of() noexcept { return slots_.source(); }

    // Effects: keeps the larger index when other's group becomes part of this one.
    void adopt_index(grouped_pool& other) noexcept {
        unknown_ += other.others_ + 1;
        others_ += other.others_ + 1;
        if (other.index_.size() > index_.size()) {
            swap(index_, other.index_);
            std::swap(serial_, other.serial_);
            unknown_ = others_ - index_.size();
        }
        other.index_.release(other.source_of());
        other.others_ = other.unknown_ = 0;
    }

    // Returns: the other pool of the group in which an address lies, or null. An index finds it if there are many.
    [[nodiscard]] grouped_pool* find_other(const void* address) noexcept {
        if (!is_checked_mode && others_ > most_asked) {
            if (unknown_ != 0) index_others();
            if (grouped_pool* const found = index_.find(address)) return found;
            if (unknown_ == 0) return nullptr;
        }
        for (grouped_pool* other = next_; other != this; other = other->next_) {
            if (other->holds(address)) return other;
        }
        return nullptr;
    }

    // Effects: adds the pools that have joined since the last call to the index, if there is memory for it.
    void index_others() noexcept {
        if constexpr (!is_checked_mode) {
            source from = source_of();
            if (serial_ == 0) serial_ = next_serial();
            for (grouped_pool* other = next_; other != this && unknown_ != 0; other = other->next_) {
                if (other->number_ != index::none && other->known_to_ == serial_) continue;
                other->number_ = index_.add(from, *other);
                if (other->number_ == index::none) return;
                other->known_to_ = serial_;
                --unknown_;
            }
        }
    }

    [[nodiscard]] static std::size_t next_serial() noexcept {
        static std::atomic<std::size_t> last = 0;
        return ++last;
    }

    static constexpr std::size_t most_asked = 4;  // other pools searched without an index

    std::size_t live_ = 0;
    grouped_pool* forward_ = nullptr;  // towards the head
    std::atomic<std::size_t> references_ = 1;
    std::size_t outside_;
    grouped_pool* next_ = this;
    grouped_pool* before_ = this;
    // For a head: the other pools of its ring, those missing in its index, and the number of the index.
    std::size_t others_ = 0;
    std::size_t unknown_ = 0;
    index index_;
    std::size_t serial_ = 0;
    // For the others: the index that knows this pool, and the pool's number there.
    std::size_t known_to_ = 0;
    std::size_t number_ = index::none;
    slots slots_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
