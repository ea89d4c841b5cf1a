// SPDX-License-Identifier: BSL-1.0
#include "preload/pool_slabs.hpp"

#include <errno.h>
#include <pthread.h>

#include <initializer_list>

namespace millpond::preload {

holder_lock::thread_id slab_space::this_thread() noexcept { return pthread_self(); }

bool slab_space::unmap_free() noexcept {
    if (!lock.lock(this_thread())) return false;
    const int before = errno;
    const bool is_less = map.unmap_free() != 0;
    errno = before;
    lock.unlock();
    return is_less;
}

void* pool_slabs::try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept {
    if (bytes > slab_map::extent_bytes_max || alignment > slab_map::slab_bytes) return nullptr;
    const std::uint32_t slabs = slabs_for(bytes);
    const std::size_t taken = slabs * slab_map::slab_bytes;
    rest& from = older_.bytes() >= taken ? older_ : latest_;
    if (from.bytes() < taken && !take_extent(slabs)) return nullptr;
    void* const chunk = from.next;
    from.next += taken;
    space_->map.assign(chunk, slabs, {static_cast<std::uint32_t>(block_bytes), pool_});
    note_used(taken);
    tell_observer();
    return chunk;
}

void pool_slabs::deallocate(void* chunk, std::size_t bytes, std::size_t) noexcept {
    const std::uint32_t slabs = slabs_for(bytes);
    space_->map.assign(chunk, slabs, {});
    note_used(0 - slabs * slab_map::slab_bytes);
    // Huge extents are returned whole, and a chunk is a part of one: it stays with the pool, unused.
    if (!huge_pages_ && space_->lock.lock(slab_space::this_thread())) {
        held_bytes_ -= slabs * slab_map::slab_bytes;
        space_->map.give_back(chunk, slabs);
        space_->lock.unlock();
    }
    tell_observer();
}

bool pool_slabs::take_extent(std::uint32_t slabs) noexcept {
    const int before = errno;
    if (!space_->lock.lock(slab_space::this_thread())) return false;
    std::uint32_t got = slab_map::rounded(slabs > extent_slabs_ ? slabs : extent_slabs_, huge_pages_);
    void* const extent = take_from_map(got, slabs);
    if (extent != nullptr) put_aside(latest_);
    space_->lock.unlock();
    errno = before;
    if (extent == nullptr) return false;
    latest_ = {static_cast<char*>(extent), static_cast<char*>(extent) + got * slab_map::slab_bytes};
    held_bytes_ += got * slab_map::slab_bytes;
    if (extent_slabs_ < slab_map::extent_slabs_max) extent_slabs_ *= 2;
    return true;
}

// If memory or addresses are scarce, it tries smaller extents, down to the needed size.
void* pool_slabs::take_from_map(std::uint32_t& slabs, std::uint32_t needed) noexcept {
    for (;;) {
        if (void* const extent = space_->map.take(slabs, huge_pages_)) return extent;
        if (huge_pages_ || slabs <= slab_map::rounded(needed)) return nullptr;
        slabs /= 2;
    }
}

// Keeps the end of the previous extent, in which a larger chunk did not fit. Of two ends it keeps the longer one; the
// other goes back, or is lost if extents are huge.
void pool_slabs::put_aside(rest left) noexcept {
    if (left.bytes() > older_.bytes()) {
        const rest longer = left;
        left = older_;
        older_ = longer;
    }
    if (huge_pages_) return;
    for (; left.next != left.last; left.next += slab_map::slab_bytes) {
        space_->map.give_back(left.next, 1);
        held_bytes_ -= slab_map::slab_bytes;
    }
}

void pool_slabs::give_up_rests() noexcept {
    if (huge_pages_ || !space_->lock.lock(slab_space::this_thread())) return;
    for (rest* const each : {&latest_, &older_}) {
        if (each->next != each->last)
            space_->map.give_back(each->next, static_cast<std::uint32_t>(each->bytes() / slab_map::slab_bytes));
        held_bytes_ -= each->bytes();
        *each = {};
    }
    space_->lock.unlock();
    extent_slabs_ = 1;
    tell_observer();
}

}  // namespace millpond::preload
