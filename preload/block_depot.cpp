// SPDX-License-Identifier: BSL-1.0
#include "preload/block_depot.hpp"

#include <errno.h>
#include <time.h>

#include "millpond/os/pages.hpp"
namespace millpond::preload {

void block_depot::link(stock& to, slab* one) noexcept {
    one->has_free = true;
    one->previous = nullptr;
    one->next = to.first;
    if (to.first != nullptr) to.first->previous = one;
    __atomic_store_n(&to.first, one, __ATOMIC_RELAXED);  // read without the lock
}

void block_depot::unlink(stock& from, slab* one) noexcept {
    one->has_free = false;
    if (one->next != nullptr) one->next->previous = one->previous;
    (one->previous != nullptr ? one->previous->next : from.first) = one->next;
}

block_depot::chain block_depot::take(unsigned size_class, unsigned wanted, thread_id self) noexcept {
    if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
        collect(self);
    keeping_.note_taking();
    stock& from = stocks_[size_class];
    if (!from.lock.lock(self)) [[unlikely]]
        return {};
    chain taken = take_locked(from, size_class, wanted);
    const bool is_beginning = taken.count == 0 && from.begun < begun_max;
    if (taken.count == 0 && !is_beginning) taken = take_new(from, size_class, wanted, false, self);
    from.lock.unlock();
    if (taken.count != 0) [[likely]]
        return taken;
    if (is_beginning) taken = begin_with_neighbours(size_class, self);
    const bool has_begun = taken.count != 0;
    if (!has_begun) taken = borrow(size_class, wanted, self);
    if (taken.count == 0 && mixes_slabs_) taken = take_mixed(size_class, wanted, self);
    if (!from.lock.lock(self)) [[unlikely]]
        return taken;
    from.begun = has_begun ? from.begun + 1 : begun_max;
    if (taken.count == 0) taken = take_new(from, size_class, wanted, true, self);
    from.lock.unlock();
    return taken;
}

block_depot::chain block_depot::take_locked(stock& from, unsigned size_class, unsigned wanted,
                                            bool may_touch) noexcept {
    const std::size_t block_bytes = classes::bytes_of(size_class);
    chain taken;
    block** last = &taken.first;
    unsigned freed = 0;
    while (taken.count < wanted && from.first != nullptr) {
        slab* const one = from.first;
        const unsigned before = taken.count;
        for (; taken.count < wanted && one->freed != nullptr; ++taken.count, ++freed) {
            *last = one->freed;
            last = &one->freed->next;
            one->freed = one->freed->next;
        }
        if (taken.count < wanted && one->fresh < one->blocks)
            taken.count += take_fresh(*one, block_bytes, wanted - taken.count, may_touch && taken.count == 0, last);
        one->out = static_cast<std::uint16_t>(one->out + (taken.count - before));
        if (one->freed != nullptr || one->fresh != one->blocks) break;
        unlink(from, one);
    }
    *last = nullptr;
    __atomic_store_n(&from.freed_blocks, from.freed_blocks - freed, __ATOMIC_RELAXED);
    return taken;
}

// Returns fresh blocks that end in pages already touched by earlier ones; with `may_touch`, also those of one more
// page.
std::uint32_t block_depot::take_fresh(slab& from, std::size_t block_bytes, std::uint32_t wanted, bool may_touch,
                                      block**& last) noexcept {
    const std::size_t offset = from.fresh * block_bytes;
    const std::size_t page_bytes = os::pages::size();
    const std::size_t touched = (offset + (may_touch ? block_bytes : 0) + page_bytes - 1) & ~(page_bytes - 1);
    char* next = space_->map.slab_of(&from) + offset;
    std::uint32_t count = 0;
    for (std::size_t end = offset + block_bytes; count < wanted && end <= touched && from.fresh < from.blocks;
         ++count, ++from.fresh, next += block_bytes, end += block_bytes) {
        *last = reinterpret_cast<block*>(next);
        last = &(*last)->next;
    }
    return count;
}

block_depot::chain block_depot::take_new(stock& from, unsigned size_class, unsigned wanted, bool may_grow,
                                         thread_id self) noexcept {
    slab* const one = new_slab(size_class, may_grow, self);
    if (one == nullptr) return {};
    link(from, one);
    return take_locked(from, size_class, wanted);
}

bool block_depot::is_as_well_aligned(unsigned larger, unsigned size_class) noexcept {
    const std::size_t bytes = classes::bytes_of(size_class) | classes::alignment_max;
    return (classes::bytes_of(larger) & ((bytes & (0 - bytes)) - 1)) == 0;
}

// Returns free blocks of another class that is at most twice as large, as well aligned, and has many.
block_depot::chain block_depot::borrow(unsigned size_class, unsigned wanted, thread_id self) noexcept {
    const std::size_t block_bytes = classes::bytes_of(size_class);
    for (unsigned each = size_class + 1; each < classes::count && classes::bytes_of(each) <= 2 * block_bytes; ++each) {
        stock& from = stocks_[each];
        const std::size_t freed = __atomic_load_n(&from.freed_blocks, __ATOMIC_RELAXED) * classes::bytes_of(each);
        if (freed < borrowed_bytes_min || !is_as_well_aligned(each, size_class) || !from.lock.lock(self)) continue;
        const chain taken = take_locked(from, each, wanted, false);
        from.lock.unlock();
        if (taken.count != 0) return taken;
    }
    return {};
}

block_depot::chain block_depot::begin_with_neighbours(unsigned size_class, thread_id self) noexcept {
    const std::size_t block_bytes = classes::bytes_of(size_class);
    if (block_bytes > begun_bytes_max) return {};
    for (unsigned each = size_class + 1; classes::bytes_of(each) <= block_bytes + block_bytes / 2; ++each) {
        stock& from = stocks_[each];
        if (__atomic_load_n(&from.first, __ATOMIC_RELAXED) == nullptr || !is_as_well_aligned(each, size_class))
            continue;
        if (!from.lock.lock(self)) continue;
        const chain taken = take_locked(from, each, 1, false);
        from.lock.unlock();
        if (taken.count != 0) return taken;
    }
    return {};
}

block_depot::chain block_depot::take_mixed_locked(unsigned size_class, unsigned wanted) noexcept {
    const std::size_t bytes = classes::bytes_of(size_class);
    chain taken;
    block** last = &taken.first;
    for (; taken.count < wanted; ++taken.count, last = &(*last)->next) {
        *last = mixed_.take(bytes, classes::alignment_max);
        if (*last == nullptr) break;
    }
    *last = nullptr;
    return taken;
}

block_depot::chain block_depot::take_mixed(unsigned size_class, unsigned wanted, thread_id self) noexcept {
    chain taken;
    for (bool is_again = false;; is_again = true) {
        if (!mixed_lock_.lock(self)) return {};
        taken = take_mixed_locked(size_class, wanted);
        mixed_lock_.unlock();
        if (taken.count != 0 || is_again || !mix_largest(self)) return taken;
    }
}

bool block_depot::mix_largest(thread_id self) noexcept {
    unsigned largest = 0;
    std::size_t most = slabs_.used_bytes() / mixed_parts;
    if (most < mixed_bytes_min) most = mixed_bytes_min;
    for (unsigned each = 1; each < classes::count; ++each) {
        const std::size_t bytes = freed_blocks(each) * classes::bytes_of(each);
        if (bytes < most) continue;
        most = bytes;
        largest = each;
    }
    stock& from = stocks_[largest];
    if (largest == 0 || !from.lock.lock(self)) return false;
    unsigned count = 0;
    if (mixed_lock_.lock(self)) {
        slab* next = nullptr;
        for (slab* each = from.first; each != nullptr && count != mixed_at_once; each = next) {
            next = each->next;
            if (each->fresh != each->blocks) continue;  // it has pages that were never touched
            const unsigned freed = each->blocks - each->out;
            unlink(from, each);
            if (!mixed_.adopt(*each, classes::bytes_of(largest))) {
                link(from, each);
                break;
            }
            ++count;
            __atomic_store_n(&from.freed_blocks, from.freed_blocks - freed, __ATOMIC_RELAXED);
            __atomic_store_n(&each->size_class, std::uint8_t{mixed_class}, __ATOMIC_RELAXED);
            __atomic_thread_fence(__ATOMIC_RELEASE);
            space_->map.assign(space_->map.slab_of(each), 1,
                               {mixed_cuts::granule, pool_, static_cast<std::uint8_t>(mixed_class)});
        }
        mixed_lock_.unlock();
    }
    from.lock.unlock();
    return count != 0;
}

void block_depot::put_mixed(block* first, thread_id self) noexcept {
    if (!mixed_lock_.lock(self)) [[unlikely]] {
        while (first != nullptr && !mixed_lock_.is_retired()) {
            block* const next = first->next;
            hand_over(first);
            first = next;
        }
        return;
    }
    slab* emptied = nullptr;
    block* unmixed = nullptr;
    while (first != nullptr) {
        block* const next = first->next;
        if (class_of_slab(*slab_at(first)) != mixed_class) [[unlikely]] {
            first->next = unmixed;
            unmixed = first;
        } else if (slab* const one = mixed_.put(first); one != nullptr) {
            one->next = emptied;
            emptied = one;
        }
        first = next;
    }
    mixed_lock_.unlock();
    while (emptied != nullptr) {
        slab* const next = emptied->next;
        give_back(emptied, self);
        emptied = next;
    }
    if (unmixed != nullptr) put(class_of_slab(*slab_at(unmixed)), unmixed, self);
}

void block_depot::put(unsigned size_class, block* first, thread_id self) noexcept {
    if (size_class == mixed_class) return put_mixed(first, self);
    stock& to = stocks_[size_class];
    if (!to.lock.lock(self)) [[unlikely]] {
        // If no thread will ever have the lock, the blocks stay out, because no later call would collect them.
        while (first != nullptr && !to.lock.is_retired()) {
            block* const next = first->next;
            hand_over(first);
            first = next;
        }
        return;
    }
    slab* emptied = nullptr;
    block* borrowed = nullptr;
    std::size_t freed = 0;
    while (first != nullptr) {
        block* const next = first->next;
        slab* const one = slab_at(first);
        if (class_of_slab(*one) != size_class) [[unlikely]] {
            first->next = borrowed;
            borrowed = first;
            first = next;
            continue;
        }
        first->next = one->freed;
        one->freed = first;
        ++freed;
        if (!one->has_free) link(to, one);
        if (--one->out == 0) [[unlikely]] {
            unlink(to, one);
            freed -= one->fresh;  // all given-out blocks are free; modulo 2^64, as the stock's counter is
            one->next = emptied;
            emptied = one;
        }
        first = next;
    }
    __atomic_store_n(&to.freed_blocks, to.freed_blocks + freed, __ATOMIC_RELAXED);
    to.lock.unlock();
    while (emptied != nullptr) {
        slab* const next = emptied->next;
        give_back(emptied, self);
        emptied = next;
    }
    // These blocks are out, so their slabs keep their classes or become mixed. Each step takes blocks out of the chain.
    if (borrowed != nullptr) put(class_of_slab(*slab_at(borrowed)), borrowed, self);
}

block_depot::slab* block_depot::new_slab(unsigned size_class, bool may_grow, thread_id self) noexcept {
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return nullptr;
    const std::size_t block_bytes = classes::bytes_of(size_class);
    char* first = runs_.take_slab();
    if (first == nullptr && may_grow) first = take_from_system(1, block_bytes);
    if (first != nullptr) keeping_.note_taken(amounts());
    slabs_lock_.unlock();
    if (makes_huge_pages_) [[unlikely]]
        look_for_huge_pages();
    if (first == nullptr) return nullptr;
    slab* const one = slab_at(first);
    *one = {};
    one->blocks = static_cast<std::uint16_t>(slab_map::slab_bytes / block_bytes);
    one->size_class = static_cast<std::uint8_t>(size_class);
    space_->map.assign(first, 1,
                       {static_cast<std::uint32_t>(block_bytes), pool_, static_cast<std::uint8_t>(size_class)});
    return one;
}

// Returns a slab that no class uses any more.
void block_depot::give_back(slab* emptied, thread_id self) noexcept {
    char* const first = space_->map.slab_of(emptied);
    space_->map.assign(first, 1, {});
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return;
    runs_.add({first, 1}, false);
    note_emptied(slab_map::slab_bytes);
    slabs_lock_.unlock();
}

void* block_depot::take_run(std::size_t bytes, thread_id self, bool& is_zero, std::size_t alignment) noexcept {
    if (__atomic_load_n(&handed_over_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
        collect(self);
    keeping_.note_taking();
    if (!slabs_lock_.lock(self)) [[unlikely]]
        return nullptr;
    const std::uint32_t pages = pages_for(bytes);
    const auto aligned =
        static_cast<std::uint32_t>(alignment <= page_runs::page_bytes ? 1 : alignment / page_runs::page_bytes);
    char* run = runs_.take_aligned(pages, aligned, is_zero);
    if (run == nullptr) {
        const std::uint32_t slabs = (pages + aligned - 1 + page_runs::slab_pages - 1) / page_runs::slab_pages;
        if (char* const more = take_from_system(slabs, page_runs::page_bytes); more != nullptr) {
            runs_.add({more, slabs}, true);
            run = runs_.take_aligned(pages, aligned, is_zero);
        }
    }
    keeping_.note_taken(amounts());
    slabs_lock_.unlock();
    if (makes_huge_pages_) [[unlikely]]
        look_for_huge_pages();
    return run;
}

void block_depot::look_for_huge_pages() noexcept {
    const std::size_t bytes = space_->map.accessible_bytes();
    const std::size_t before = __atomic_load_n(&looked_at_bytes_, __ATOMIC_RELAXED);
    if (bytes < before + huge_regions::region_bytes) return;
    __atomic_store_n(&looked_at_bytes_, bytes, __ATOMIC_RELAXED);
    huge_.look(space_->map.page_at(0), bytes);
}

void block_depot::put_run(void* run, thread_id self) noexcept {
    if (!slabs_lock_.lock(self)) [[unlikely]] {
        if (!slabs_lock_.is_retired()) hand_over(run);
        return;
    }
    note_emptied(runs_.put(static_cast<char*>(run)));
    slabs_lock_.unlock();
}

bool block_depot::grow_run(void* run, std::size_t bytes, thread_id self) noexcept {
    if (!slabs_lock_.lock(self)) return false;
    const bool has_grown = runs_.grow(static_cast<char*>(run), pages_for(bytes));
    slabs_lock_.unlock();
    return has_grown;
}

std::uint32_t block_depot::pages_for(std::size_t bytes) noexcept {
    const auto pages = static_cast<std::uint32_t>((bytes + page_runs::page_bytes - 1) / page_runs::page_bytes);
    return pages > page_runs::least_pages ? pages : page_runs::least_pages;
}

char* block_depot::take_from_system(std::uint32_t slabs, std::size_t block_bytes) noexcept {
    const std::size_t bytes = slabs * slab_map::slab_bytes;
    void* const chunk = slabs_.try_allocate_slab(bytes, slab_map::slab_bytes, block_bytes);
    if (chunk != nullptr) keeping_.note_growth(bytes);
    return static_cast<char*>(chunk);
}

void block_depot::note_emptied(std::size_t bytes) noexcept {
    const kept_memory::order order = keeping_.note_emptied(bytes, amounts(), now_ms());
    return_surplus(order.kept, order.pieces);
}

// Huge extents are returned whole or not at all.
void block_depot::return_surplus(std::size_t kept, unsigned runs_max) noexcept {
    const int before = errno;
    for (; runs_max != 0 && runs_.free_bytes() > kept && !huge_pages_; --runs_max) {
        const std::size_t surplus = (runs_.free_bytes() - kept + slab_map::slab_bytes - 1) / slab_map::slab_bytes;
        const page_runs::slabs out = runs_.take_from_longest(
            static_cast<std::uint32_t>(surplus < slab_map::extent_slabs_max ? surplus : slab_map::extent_slabs_max));
        if (out.count == 0) break;
        const std::size_t bytes = out.count * slab_map::slab_bytes;
        keeping_.note_returned(bytes);
        slabs_.deallocate(out.first, bytes, slab_map::slab_bytes);
    }
    errno = before;
}

std::uint64_t block_depot::steady_ms() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

bool block_depot::trim(thread_id self) noexcept {
    collect(self);
    if (!slabs_lock_.lock(self)) return false;
    const std::size_t before = slabs_.used_bytes();
    return_surplus(0, ~0U);
    const bool is_less = slabs_.used_bytes() < before;
    slabs_lock_.unlock();
    return is_less;
}

bool block_depot::give_up(thread_id self) noexcept {
    collect(self);
    if (!slabs_lock_.lock(self)) return false;
    const int before = errno;
    if (!huge_pages_) {
        for (page_runs::slabs out; (out = runs_.take_whole_slabs()).count != 0;)
            slabs_.deallocate(out.first, out.count * slab_map::slab_bytes, slab_map::slab_bytes);
        slabs_.give_up_rests();
    }
    slabs_lock_.unlock();
    errno = before;
    return space_->unmap_free();
}

classic::heap_record block_depot::record(thread_id self) noexcept {
    classic::heap_record found;
    const bool has_mixed_lock = mixed_lock_.lock(self);
    const bool has_lock = slabs_lock_.lock(self);
    found.use.used_bytes = slabs_.used_bytes();
    found.use.held_bytes = slabs_.held_bytes();
    found.use.mapped_bytes = space_->map.mapped_bytes();
    std::uint32_t runs_end = 0;
    space_->map.for_each_owned([&](const void* start, slab_owner owner) {
        if (owner.pool != pool_ || owner.size_class == 0) return;
        if (owner.size_class == run_class) {
            if (!has_lock) return;
            runs_.for_each_run(start, runs_end, [&](std::uint32_t pages, bool is_free) {
                found.use.note(pages * page_runs::page_bytes, is_free);
            });
            return;
        }
        const slab* const one = slab_at(start);
        if (owner.size_class == mixed_class) {
            // The note of an emptied slab changes under the lock of slabs.
            if (has_lock && has_mixed_lock)
                mixed_.for_each_piece(*one, [&](std::size_t bytes, bool is_free) { found.use.note(bytes, is_free); });
            return;
        }
        const std::size_t blocks = __atomic_load_n(&one->blocks, __ATOMIC_RELAXED);
        const std::size_t out = __atomic_load_n(&one->out, __ATOMIC_RELAXED);
        found.use.note(owner.block_bytes, false, out);
        found.use.note(owner.block_bytes, true, blocks - out);
    });
    if (has_lock) {
        runs_.for_each_list([&](std::size_t length) { found.note_list(length); });
        slabs_lock_.unlock();
    }
    if (has_mixed_lock) mixed_lock_.unlock();
    for (unsigned each = 1; each < classes::count; ++each) found.note_list(freed_blocks(each));
    return found;
}

void block_depot::hand_over(void* handed) noexcept {
    auto* const one = static_cast<block*>(handed);
    block* seen = __atomic_load_n(&handed_over_, __ATOMIC_RELAXED);
    do one->next = seen;
    while (!__atomic_compare_exchange_n(&handed_over_, &seen, one, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

// Takes the whole list at once, so that no block can leave and return meanwhile.
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
    mixed_lock_.retire_unless_held_by(survivor);
    for (stock& each : stocks_) each.lock.retire_unless_held_by(survivor);
}

}  // namespace millpond::preload
