// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool_slabs.hpp"

#include <errno.h>

namespace millpond::trial {

using preload::slab_map;

void* pool_slabs::try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept {
    if (bytes > slab_map::extent_bytes_max || alignment > slab_map::slab_bytes) return nullptr;
    const std::uint32_t slabs = slabs_for(bytes);
    const std::size_t taken = slabs * slab_map::slab_bytes;
    if (static_cast<std::size_t>(last_ - next_) < taken && !take_extent(slabs)) return nullptr;
    void* const chunk = next_;
    next_ += taken;
    space_->map.assign(chunk, slabs, {static_cast<std::uint32_t>(block_bytes), pool_});
    (*counters_)->slab_bytes_used += taken;
    return chunk;
}

void pool_slabs::deallocate(void* chunk, std::size_t bytes, std::size_t) noexcept {
    const std::uint32_t slabs = slabs_for(bytes);
    space_->map.assign(chunk, slabs, {});
    (*counters_)->slab_bytes_used -= slabs * slab_map::slab_bytes;
    // Huge extents go back whole, and a chunk is a part of one: it stays with the pool, out of use.
    if (huge_pages_) return;
    (*counters_)->held_bytes -= slabs * slab_map::slab_bytes;
    space_->lock.lock();
    // Slab by slab: the map puts neighbours together again.
    for (std::uint32_t i = 0; i < slabs; ++i)
        space_->map.give_back(static_cast<char*>(chunk) + i * slab_map::slab_bytes, 1);
    space_->lock.unlock();
}

bool pool_slabs::take_extent(std::uint32_t slabs) noexcept {
    const int before = errno;
    const std::uint32_t wanted = slab_map::rounded(slabs > extent_slabs_ ? slabs : extent_slabs_, huge_pages_);
    space_->lock.lock();
    std::uint32_t got = wanted;
    void* extent = space_->map.take(got, huge_pages_);
    if (extent == nullptr && !huge_pages_ && wanted > slab_map::rounded(slabs)) {
        got = slab_map::rounded(slabs);
        extent = space_->map.take(got, false);
    }
    if (extent != nullptr) give_back_rest();
    space_->lock.unlock();
    errno = before;
    if (extent == nullptr) return false;
    next_ = static_cast<char*>(extent);
    last_ = next_ + got * slab_map::slab_bytes;
    (*counters_)->held_bytes += got * slab_map::slab_bytes;
    if (extent_slabs_ < slab_map::extent_slabs_max) extent_slabs_ *= 2;
    return true;
}

// The end of the extent before, when a chunk of several slabs did not fit there.
void pool_slabs::give_back_rest() noexcept {
    if (huge_pages_) return;
    for (; next_ != last_; next_ += slab_map::slab_bytes) {
        space_->map.give_back(next_, 1);
        (*counters_)->held_bytes -= slab_map::slab_bytes;
    }
}

}  // namespace millpond::trial
