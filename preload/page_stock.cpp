// SPDX-License-Identifier: BSL-1.0
#include "preload/page_stock.hpp"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <bit>

#include "millpond/os/pages.hpp"
#include "preload/fork_mark.hpp"
#include "preload/pages.hpp"

namespace millpond::preload {

// Up to 8 pages each number is a class; above that there are four classes an octave.
page_stock::size_class page_stock::class_of(std::size_t bytes) noexcept {
    const std::size_t page_bytes = os::pages::size();
    const std::size_t pages = bytes <= page_bytes ? 1 : (bytes + page_bytes - 1) / page_bytes;
    if (pages <= 8) return {static_cast<unsigned>(pages) - 1, pages * page_bytes};
    const auto shift = static_cast<unsigned>(std::bit_width(pages - 1)) - 3;
    const std::size_t steps = ((pages - 1) >> shift) + 1;  // 5 … 8
    return {8 + (shift - 1) * 4 + static_cast<unsigned>(steps) - 5, (steps << shift) * page_bytes};
}

// A child that has not been adopted yet does not wait: the holder may be a thread that it does not have.
bool page_stock::lock() noexcept {
    return lock_.lock_while(pthread_self(), [] { return fork_mark::is_set(); });
}

void* page_stock::take_block(std::size_t bytes) noexcept {
    if (bytes > largest) return take_pages(bytes);
    const size_class wanted = class_of(bytes);
    if (!lock()) return take_pages(wanted.bytes);
    void* found = free_[wanted.number];
    if (found != nullptr)
        free_[wanted.number] = static_cast<block*>(found)->next;
    else
        found = cut(wanted.bytes);
    lock_.unlock();
    if (found == nullptr) return take_pages(wanted.bytes);
    memset(found, 0, sizeof(block));
    return found;
}

// A rest of a region that is too short is given up: at most 1 MiB of addresses, untouched.
std::byte* page_stock::cut(std::size_t bytes) noexcept {
    if (static_cast<std::size_t>(past_ - next_) < bytes) {
        std::size_t size = regions_ == nullptr ? region_bytes_min : 2 * regions_->bytes;
        if (size > region_bytes_max) size = region_bytes_max;
        const std::size_t page_bytes = os::pages::size();
        if (size < bytes + page_bytes) size = bytes + page_bytes;
        auto* const fresh = take_pages<region>(size);
        if (fresh == nullptr) return nullptr;
        *fresh = {regions_, size};
        next_ = reinterpret_cast<std::byte*>(fresh) + page_bytes;
        past_ = reinterpret_cast<std::byte*>(fresh) + size;
        regions_ = fresh;
    }
    std::byte* const p = next_;
    next_ += bytes;
    return p;
}

void page_stock::give(void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return;
    if (bytes > largest) return give_pages(p, bytes);
    const size_class its = class_of(bytes);
    const int before = errno;
    const bool is_zero = madvise(p, its.bytes, MADV_DONTNEED) == 0;
    errno = before;
    if (!is_zero) memset(p, 0, its.bytes);
    // Without the lock the addresses are given up, because part of a region cannot be unmapped by itself.
    if (!lock()) return;
    auto* const one = static_cast<block*>(p);
    one->next = free_[its.number];
    free_[its.number] = one;
    lock_.unlock();
}

void page_stock::clear() noexcept {
    for (region* each = regions_; each != nullptr;) {
        region* const before = each->before;
        give_pages(each, each->bytes);
        each = before;
    }
    regions_ = nullptr;
    next_ = past_ = nullptr;
    for (block*& first : free_) first = nullptr;
}

}  // namespace millpond::preload
