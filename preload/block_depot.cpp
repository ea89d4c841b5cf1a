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
    slab* one = take_empty(1);
    if (one == nullptr) one = take_from_system(1, block_bytes);
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
    space_->map.assign(space_->map.slab_of(emptied), 1, {});
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return;
    emptied->run = 1;
    keep_empty(emptied);
    slabs_lock_.unlock();
}

void* block_depot::take_run(std::size_t bytes, thread_id self, bool& is_zero) noexcept {
    if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
        collect(self);
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return nullptr;
    const auto slabs = static_cast<std::uint32_t>((bytes + slab_map::slab_bytes - 1) / slab_map::slab_bytes);
    const std::size_t run_bytes = slabs * slab_map::slab_bytes;
    slab* first = take_empty(slabs);
    is_zero = first == nullptr;
    if (is_zero) first = take_from_system(slabs, run_bytes);
    slabs_lock_.unlock();
    if (first == nullptr) return nullptr;
    char* const run = space_->map.slab_of(first);
    space_->map.assign(run, slabs, {static_cast<std::uint32_t>(run_bytes), pool_, std::uint8_t{run_class}});
    return run;
}

void block_depot::put_run(void* run, thread_id self) noexcept {
    if (!slabs_lock_.lock(self)) [[unlikely]] {
        if (!slabs_lock_.is_retired()) hand_over(run);
        return;
    }
    slab* const first = slab_at(run);
    *first = {};
    const std::size_t bytes = space_->map.owner_of(run).block_bytes;
    first->run = static_cast<std::uint8_t>(bytes / slab_map::slab_bytes);
    space_->map.assign(run, first->run, {});
    keep_empty(first);
    slabs_lock_.unlock();
}

void block_depot::push_empty(slab* one) noexcept {
    empty_runs& to = empty_[one->run];
    one->next = to.first;
    to.first = one;
    to.bytes += one->run * slab_map::slab_bytes;
    empty_bytes_ += one->run * slab_map::slab_bytes;
}

block_depot::slab* block_depot::pop_empty(std::uint32_t slabs) noexcept {
    empty_runs& from = empty_[slabs];
    slab* const one = from.first;
    if (one == nullptr) return nullptr;
    from.first = one->next;
    from.bytes -= slabs * slab_map::slab_bytes;
    empty_bytes_ -= slabs * slab_map::slab_bytes;
    return one;
}

block_depot::slab* block_depot::take_empty(std::uint32_t slabs) noexcept {
    slab* const one = pop_empty(slabs);
    if (one == nullptr) return nullptr;
    if (empty_bytes_ < least_empty_bytes_) least_empty_bytes_ = empty_bytes_;
    if (in_use_bytes() > most_in_use_bytes_) most_in_use_bytes_ = in_use_bytes();
    return one;
}

block_depot::slab* block_depot::take_from_system(std::uint32_t slabs, std::size_t block_bytes) noexcept {
    const std::size_t bytes = slabs * slab_map::slab_bytes;
    void* const chunk = slabs_.try_allocate_slab(bytes, slab_map::slab_bytes, block_bytes);
    if (chunk == nullptr) return nullptr;
    const std::size_t again = returned_bytes_ < bytes ? returned_bytes_ : bytes;
    returned_bytes_ -= again;
    kept_bytes_ += again;
    least_empty_bytes_ = 0;
    if (in_use_bytes() > most_in_use_bytes_) most_in_use_bytes_ = in_use_bytes();
    return slab_at(chunk);
}

void block_depot::keep_empty(slab* emptied) noexcept {
    emptied_bytes_ += emptied->run * slab_map::slab_bytes;
    if (emptied_bytes_ >= epoch_bytes_min && emptied_bytes_ / 8 >= most_in_use_bytes_) {
        const std::size_t unused = least_empty_bytes_ / 2;
        kept_bytes_ = kept_bytes_ > unused + empty_bytes_min ? kept_bytes_ - unused : empty_bytes_min;
        least_empty_bytes_ = empty_bytes_;
        emptied_bytes_ = 0;
        most_in_use_bytes_ = in_use_bytes();
    }
    push_empty(emptied);
    // Some at a time: what may be kept falls with what is in use.
    return_surplus(in_use_bytes() / 4 > kept_bytes_ ? in_use_bytes() / 4 : kept_bytes_, 4);
}

// Huge extents go back whole or not at all.
void block_depot::return_surplus(std::size_t kept, unsigned runs_max) noexcept {
    const int before = errno;
    for (; runs_max != 0 && empty_bytes_ > kept && !huge_pages_; --runs_max) {
        std::uint32_t most = 1;  // the length of which most is there: what is rarely asked for goes, too
        for (std::uint32_t slabs = 2; slabs <= slab_map::extent_slabs_max; ++slabs)
            if (empty_[slabs].bytes > empty_[most].bytes) most = slabs;
        const std::size_t bytes = most * slab_map::slab_bytes;
        returned_bytes_ += bytes;
        slabs_.deallocate(space_->map.slab_of(pop_empty(most)), bytes, slab_map::slab_bytes);
    }
    errno = before;
}

bool block_depot::trim(thread_id self) noexcept {
    collect(self);
    if (!slabs_lock_.lock(self)) return false;
    const std::size_t before = empty_bytes_;
    return_surplus(0, ~0U);
    const bool is_less = empty_bytes_ < before;
    slabs_lock_.unlock();
    return is_less;
}

malloc_usage block_depot::usage() const noexcept {
    malloc_usage found;
    found.used_bytes = slabs_.used_bytes();
    found.held_bytes = slabs_.held_bytes();
    std::size_t run_slabs[slab_map::extent_slabs_max + 1] = {};  // by the slabs of a run
    space_->map.for_each_owned([&](const void* start, slab_owner owner) {
        if (owner.pool != pool_ || owner.size_class == 0) return;
        if (owner.size_class == run_class) {
            ++run_slabs[owner.block_bytes / slab_map::slab_bytes];
            found.block_bytes += slab_map::slab_bytes;
            return;
        }
        const slab* const one = slab_at(start);
        const std::size_t blocks = __atomic_load_n(&one->blocks, __ATOMIC_RELAXED);
        const std::size_t out = __atomic_load_n(&one->out, __ATOMIC_RELAXED);
        found.blocks += out;
        found.block_bytes += out * owner.block_bytes;
        found.free_blocks += blocks - out;
        found.free_bytes += (blocks - out) * owner.block_bytes;
    });
    for (std::size_t slabs = 1; slabs <= slab_map::extent_slabs_max; ++slabs) found.blocks += run_slabs[slabs] / slabs;
    return found;
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
        const unsigned size_class = space_->map.class_at(each);
        size_class == run_class ? put_run(each, self) : put(size_class, each, self);
        each = next;
    }
}

void block_depot::retire_unless_held_by(thread_id survivor) noexcept {
    slabs_lock_.retire_unless_held_by(survivor);
    for (stock& each : stocks_) each.lock.retire_unless_held_by(survivor);
}

}  // namespace millpond::preload
