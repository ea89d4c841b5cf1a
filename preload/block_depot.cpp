// SPDX-License-Identifier: BSL-1.0
#include "preload/block_depot.hpp"

#include <errno.h>

namespace millpond::preload {

void block_depot::link(stock& to, slab* one) noexcept {
    one->has_free = true;
    one->previous = nullptr;
    one->next = to.first;
    if (to.first != nullptr) to.first->previous = one;
    to.first = one;
}

void block_depot::unlink(stock& from, slab* one) noexcept {
    one->has_free = false;
    if (one->next != nullptr) one->next->previous = one->previous;
    (one->previous != nullptr ? one->previous->next : from.first) = one->next;
}

block_depot::chain block_depot::take(unsigned size_class, unsigned wanted, thread_id self) noexcept {
    if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
        collect(self);
    stock& from = stocks_[size_class];
    if (!from.lock.lock(self)) [[unlikely]]
        return {};
    const chain taken = take_locked(from, size_class, wanted, self);
    from.lock.unlock();
    return taken;
}

block_depot::chain block_depot::take_locked(stock& from, unsigned size_class, unsigned wanted,
                                            thread_id self) noexcept {
    const std::size_t block_bytes = classes::bytes_of(size_class);
    chain taken;
    block** last = &taken.first;
    while (taken.count < wanted) {
        slab* one = from.first;
        if (one == nullptr) {
            if (taken.count > 0 || (one = new_slab(size_class, self)) == nullptr) break;
            link(from, one);
        }
        const unsigned before = taken.count;
        for (; taken.count < wanted && one->freed != nullptr; ++taken.count) {
            *last = one->freed;
            last = &one->freed->next;
            one->freed = one->freed->next;
        }
        if (taken.count < wanted && one->fresh < one->blocks) {
            char* next = space_->map.slab_of(one) + one->fresh * block_bytes;
            for (; taken.count < wanted && one->fresh < one->blocks; ++taken.count, ++one->fresh, next += block_bytes) {
                *last = reinterpret_cast<block*>(next);
                last = &(*last)->next;
            }
        }
        one->out = static_cast<std::uint16_t>(one->out + (taken.count - before));
        if (one->freed == nullptr && one->fresh == one->blocks) unlink(from, one);
    }
    *last = nullptr;
    return taken;
}

void block_depot::put(unsigned size_class, block* first, thread_id self) noexcept {
    stock& to = stocks_[size_class];
    if (!to.lock.lock(self)) [[unlikely]] {
        // Where no thread will ever have the lock, nobody would collect them: they stay out.
        while (first != nullptr && !to.lock.is_retired()) {
            block* const next = first->next;
            hand_over(first);
            first = next;
        }
        return;
    }
    slab* emptied = nullptr;
    while (first != nullptr) {
        block* const next = first->next;
        slab* const one = slab_at(first);
        first->next = one->freed;
        one->freed = first;
        if (!one->has_free) link(to, one);
        if (--one->out == 0) [[unlikely]] {
            unlink(to, one);
            one->next = emptied;
            emptied = one;
        }
        first = next;
    }
    to.lock.unlock();
    while (emptied != nullptr) {
        slab* const next = emptied->next;
        give_back(emptied, self);
        emptied = next;
    }
}

block_depot::slab* block_depot::new_slab(unsigned size_class, thread_id self) noexcept {
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return nullptr;
    const std::size_t block_bytes = classes::bytes_of(size_class);
    slab* one = empty_;
    if (one != nullptr) {
        empty_ = one->next;
        empty_bytes_ -= slab_map::slab_bytes;
        if (empty_bytes_ < least_empty_bytes_) least_empty_bytes_ = empty_bytes_;
    } else if (void* const chunk = slabs_.try_allocate_slab(slab_map::slab_bytes, slab_map::slab_bytes, block_bytes)) {
        one = slab_at(chunk);
        least_empty_bytes_ = 0;
        if (returned_bytes_ != 0) {
            returned_bytes_ -= slab_map::slab_bytes;
            kept_bytes_ += slab_map::slab_bytes;
        }
    }
    slabs_lock_.unlock();
    if (one == nullptr) return nullptr;
    *one = {};
    one->blocks = static_cast<std::uint16_t>(slab_map::slab_bytes / block_bytes);
    space_->map.assign(space_->map.slab_of(one), 1,
                       {static_cast<std::uint32_t>(block_bytes), pool_, static_cast<std::uint8_t>(size_class)});
    return one;
}

// A slab that no class has any more.
void block_depot::give_back(slab* emptied, thread_id self) noexcept {
    char* const memory = space_->map.slab_of(emptied);
    space_->map.assign(memory, 1, {});
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return;
    if (++emptied_ == epoch_slabs) {
        emptied_ = 0;
        const std::size_t unused = least_empty_bytes_ / 2;
        kept_bytes_ = kept_bytes_ > unused + empty_bytes_min ? kept_bytes_ - unused : empty_bytes_min;
        least_empty_bytes_ = empty_bytes_;
    }
    const std::size_t in_use = slabs_.used_bytes() - empty_bytes_;
    const std::size_t kept = in_use / 4 > kept_bytes_ ? in_use / 4 : kept_bytes_;
    emptied->next = empty_;
    empty_ = emptied;
    empty_bytes_ += slab_map::slab_bytes;
    // Some at a time: what may be kept falls with what is in use. Huge extents go back whole or not at all.
    const int before = errno;
    for (int i = 0; i < 4 && empty_bytes_ > kept && !huge_pages_; ++i) {
        slab* const surplus = empty_;
        empty_ = surplus->next;
        empty_bytes_ -= slab_map::slab_bytes;
        returned_bytes_ += slab_map::slab_bytes;
        slabs_.deallocate(space_->map.slab_of(surplus), slab_map::slab_bytes, slab_map::slab_bytes);
    }
    errno = before;
    slabs_lock_.unlock();
}

void block_depot::hand_over(void* handed) noexcept {
    auto* const one = static_cast<block*>(handed);
    block* seen = __atomic_load_n(&handed_over_, __ATOMIC_RELAXED);
    do one->next = seen;
    while (!__atomic_compare_exchange_n(&handed_over_, &seen, one, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// Takes the whole list at once, so that no block can leave and come back meanwhile.
void block_depot::collect(thread_id self) noexcept {
    block* each = __atomic_exchange_n(&handed_over_, nullptr, __ATOMIC_ACQUIRE);
    while (each != nullptr) {
        block* const next = each->next;
        each->next = nullptr;
        put(space_->map.class_at(each), each, self);
        each = next;
    }
}

void block_depot::retire_unless_held_by(thread_id survivor) noexcept {
    slabs_lock_.retire_unless_held_by(survivor);
    for (stock& each : stocks_) each.lock.retire_unless_held_by(survivor);
}

}  // namespace millpond::preload
