// SPDX-License-Identifier: BSL-1.0
#include "preload/thread_cache.hpp"

namespace millpond::preload {
namespace {

// The limit is lower in a small program, where a cache would be a larger part of the memory.
constexpr std::size_t cached_bytes_max = std::size_t{16} << 10;
constexpr std::size_t small_program_bytes = std::size_t{16} << 20;
constexpr std::uint32_t cached_blocks_max = 128;
constexpr std::uint32_t visits_a_look = 8;
constexpr std::size_t visit_bytes = 1024;
constexpr std::uint32_t mixed_blocks_max = 32;

}  // namespace

std::uint32_t thread_cache::limit_of(unsigned size_class) const noexcept {
    const std::size_t bytes = depot_->used_bytes() < small_program_bytes ? cached_bytes_max / 2 : cached_bytes_max;
    const auto fitting = static_cast<std::uint32_t>(bytes / classes::bytes_of(size_class));
    return fitting > cached_blocks_max ? cached_blocks_max : fitting < 2 ? 2 : fitting;
}

void thread_cache::widen(list& one, unsigned size_class) noexcept {
    const std::uint32_t largest = limit_of(size_class);
    const std::uint32_t wider = one.limit == 0 ? 2 : one.limit * 2;
    const std::uint32_t limit = wider < largest ? wider : largest > one.limit ? largest : one.limit;
    one.room += limit - one.limit;
    one.limit = limit;
}

// Visits count by the bytes of their class: forgotten blocks of large classes are many pages. If a used list looks
// unchanged by chance, it is only handed over too early.
void thread_cache::tend(unsigned visited) noexcept {
    visits_ += 1 + static_cast<std::uint32_t>(classes::bytes_of(visited) / visit_bytes);
    for (; visits_ >= visits_a_look; visits_ -= visits_a_look) {
        if (++looked_at_ == classes::count) looked_at_ = 1;
        list& one = lists_[looked_at_];
        const auto now =
            static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(one.first) >> 4) ^ (one.room << 24);
        if (one.first != nullptr && seen_[looked_at_] == now) {
            depot_->put(looked_at_, one.first, this_thread());
            one = {};
        }
        seen_[looked_at_] = now;
    }
}

void thread_cache::put_mixed() noexcept {
    list& one = lists_[block_depot::mixed_class];
    if (one.first != nullptr) depot_->put(block_depot::mixed_class, one.first, this_thread());
    one = {nullptr, mixed_blocks_max, mixed_blocks_max};
}

void* thread_cache::refill(unsigned size_class) noexcept {
    tend(size_class);
    if (lists_[block_depot::mixed_class].first != nullptr) [[unlikely]]
        put_mixed();
    list& to = lists_[size_class];
    // Half of the limit, so that the following frees find room.
    const std::uint32_t wanted = to.limit == 0 ? 1 : to.limit / 2;
    const block_depot::chain taken = depot_->take(size_class, wanted, this_thread());
    if (taken.first == nullptr) return nullptr;
    widen(to, size_class);
    to.first = taken.first->next;
    to.room -= taken.count - 1;
    return taken.first;
}

void thread_cache::overflow(unsigned size_class, void* freed) noexcept {
    if (size_class == 0) return;  // not one of our blocks
    if (size_class == block_depot::mixed_class) {
        put_mixed();
        (void)put_cached(size_class, freed);
        return;
    }
    tend(size_class);
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
    if (lists_[block_depot::mixed_class].first != nullptr) put_mixed();
}

}  // namespace millpond::preload
