// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/littering.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <utility>

namespace millpond::measure {
namespace {

// Address space; pages come as they are written.
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

littering::littering() : sizes_(map<std::uint32_t>(most_blocks)) {}

littering::~littering() {
    for (std::uint64_t i = 0; i < held_; ++i) std::free(blocks_[i]);
    unmap(blocks_, most_blocks);
    unmap(sizes_, most_blocks);
}

void littering::note(std::size_t bytes) noexcept {
    if (bytes > most_bytes || noted_.load(std::memory_order_relaxed) >= most_blocks) return;
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > most_bytes) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return;
    }
    const std::uint64_t place = noted_.fetch_add(1, std::memory_order_relaxed);
    if (place < most_blocks) sizes_[place] = static_cast<std::uint32_t>(bytes);
}

void littering::hold() {
    if (blocks_ == nullptr) blocks_ = map<void*>(most_blocks);
    for (const std::uint64_t wanted = noted_blocks(); held_ < wanted; ++held_) {
        void* const block = std::malloc(sizes_[held_]);
        if (block == nullptr) throw std::bad_alloc();
        std::memset(block, 0xa5, sizes_[held_]);
        blocks_[held_] = block;
    }
}

std::uint64_t littering::free_fraction(double fraction, std::uint64_t seed) noexcept {
    const double share = std::clamp(fraction, 0.0, 1.0);
    const auto freed = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(held_)));
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < freed; ++i) {
        // The last place takes what is drawn, which is freed; so the places before it hold what remains.
        --held_;
        std::swap(blocks_[random() % (held_ + 1)], blocks_[held_]);
        std::free(blocks_[held_]);
    }
    return freed;
}

std::uint64_t littering::noted_blocks() const noexcept {
    return std::min(noted_.load(std::memory_order_relaxed), most_blocks);
}

std::uint64_t littering::noted_bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

}  // namespace millpond::measure
