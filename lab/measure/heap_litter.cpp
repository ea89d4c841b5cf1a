// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/heap_litter.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <utility>

namespace millpond::measure {
namespace {

// Maps address space; pages are allocated when they are written.
template <class T>
T* map(std::uint64_t count) {
    void* const memory =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(memory);
}

template <class T>
void unmap(T* memory, std::uint64_t count) noexcept {
    if (memory != nullptr) ::munmap(memory, count * sizeof(T));
}

}  // namespace

heap_litter::heap_litter() : sizes_(map<std::uint32_t>(most_blocks)) {}

heap_litter::~heap_litter() {
    for (std::uint64_t i = 0; i < held_; ++i) std::free(blocks_[i]);
    unmap(blocks_, most_blocks);
    unmap(sizes_, most_blocks);
}

void heap_litter::note(std::size_t bytes) noexcept {
    if (bytes > most_bytes || noted_.load(std::memory_order_relaxed) >= most_blocks) return;
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_bytes) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return;
    }
    const std::uint64_t place = noted_.fetch_add(1, std::memory_order_relaxed);
    if (place < most_blocks) sizes_[place] = static_cast<std::uint32_t>(bytes);
}

void heap_litter::hold() {
    if (blocks_ == nullptr) blocks_ = map<void*>(most_blocks);
    for (const std::uint64_t wanted = noted_blocks(); held_ < wanted; ++held_) {
        void* const block = std::malloc(sizes_[held_]);
        if (block == nullptr) throw std::bad_alloc();
        std::memset(block, 0xa5, sizes_[held_]);
        blocks_[held_] = block;
    }
}

std::uint64_t heap_litter::free_fraction(double fraction, std::uint64_t seed) noexcept {
    const double share = std::clamp(fraction, 0.0, 1.0);
    const auto freed = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(held_)));
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < freed; ++i) {
        // The drawn block is freed and the last one takes its place. So the places before the end hold the remaining
        // blocks.
        --held_;
        std::swap(blocks_[random() % (held_ + 1)], blocks_[held_]);
        std::free(blocks_[held_]);
    }
    return freed;
}

heap_litter::lines heap_litter::picture() const {
    lines found{};
    const std::uint64_t all = noted_blocks();
    if (blocks_ == nullptr || all == 0) return found;
    // A copy, outside the heap, because the order of the places is that of the draw.
    void** const sorted = map<void*>(all);
    std::copy(blocks_, blocks_ + all, sorted);
    std::nth_element(sorted, sorted + all / 2, sorted + all, std::less<>());
    const auto begin = reinterpret_cast<std::uintptr_t>(sorted[all / 2]) / line_bytes * line_bytes;
    unmap(sorted, all);
    for (std::uint64_t i = 0; i < held_; ++i) {
        const auto first = reinterpret_cast<std::uintptr_t>(blocks_[i]);
        const std::uintptr_t end =
            std::min(first + ::malloc_usable_size(blocks_[i]), begin + pictured_lines * line_bytes);
        for (std::uintptr_t at = std::max(first, begin); at < end;) {
            const std::size_t line = (at - begin) / line_bytes;
            const std::uintptr_t next = std::min(end, begin + (line + 1) * line_bytes);
            found[line] += static_cast<double>(next - at) / line_bytes;
            at = next;
        }
    }
    return found;
}

std::uint64_t heap_litter::noted_blocks() const noexcept {
    return std::min(noted_.load(std::memory_order_relaxed), most_blocks);
}

}  // namespace millpond::measure
