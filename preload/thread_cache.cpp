// SPDX-License-Identifier: BSL-1.0
#include "preload/thread_cache.hpp"

namespace millpond::preload {
namespace {

constexpr std::size_t cached_bytes_max = std::size_t{16} << 10;
constexpr std::uint32_t cached_blocks_max = 128;

}  // namespace

std::uint32_t thread_cache::limit_of(unsigned size_class) noexcept {
    const auto fitting = static_cast<std::uint32_t>(cached_bytes_max / classes::bytes_of(size_class));
    return fitting > cached_blocks_max ? cached_blocks_max : fitting < 2 ? 2 : fitting;
}

void thread_cache::widen(list& one, unsigned size_class) noexcept {
    const std::uint32_t largest = limit_of(size_class);
    const std::uint32_t wider = one.limit == 0 ? 2 : one.limit * 2;
    const std::uint32_t limit = wider < largest ? wider : largest;
    one.room += limit - one.limit;
    one.limit = limit;
}

void* thread_cache::refill(unsigned size_class) noexcept {
    list& to = lists_[size_class];
    // Half of what it may hold, so that the frees that follow find room.
    const std::uint32_t wanted = to.limit == 0 ? 1 : to.limit / 2;
    const block_depot::chain taken = depot_->take(size_class, wanted, this_thread());
    if (taken.first == nullptr) return nullptr;
    widen(to, size_class);
    to.first = taken.first->next;
    to.room -= taken.count - 1;
    return taken.first;
}

void thread_cache::overflow(unsigned size_class, void* freed) noexcept {
    if (size_class == 0) return;  // no block of anybody's
    list& to = lists_[size_class];
    if (to.limit < limit_of(size_class)) {
        widen(to, size_class);
    } else {
        const std::uint32_t kept = to.limit / 2;
        block* last = to.first;
        for (std::uint32_t i = 1; i < kept; ++i) last = last->next;
        block* const older = last->next;
        last->next = nullptr;
        to.room = to.limit - kept;
        depot_->put(size_class, older, this_thread());
    }
    (void)put_cached(size_class, freed);
}

void thread_cache::flush() noexcept {
    for (unsigned i = 1; i < classes::count; ++i) {
        list& one = lists_[i];
        if (one.first != nullptr) depot_->put(i, one.first, this_thread());
        one = {};
    }
}

}  // namespace millpond::preload
