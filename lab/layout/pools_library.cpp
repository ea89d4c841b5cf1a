// SPDX-License-Identifier: BSL-1.0
// libmillpond-layout_pools.so: the pools of a plan, for the player. Each is a multipool, as a changed source would have
// it, without a look-up of each object's pool; or an arena, which starts again when none of its objects is alive.
//
//   player ─▶ millpond_pool_allocate(bytes, alignment, pool, zeroed), resize, deallocate ─▶ pools[pool]
//
// Pool 0 is the program's malloc. Only one thread plays at a time; there is no lock, because it would never be
// contended.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lab/references/player/call_script.h"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"

namespace {

using pool = millpond::multipool<>;

// A source that counts its live objects, as a program does that knows the end of a phase.
struct arena {
    void* try_allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = blocks.try_allocate(bytes, alignment);
        alive += block != nullptr;
        return block;
    }
    void deallocate(void*, std::size_t, std::size_t) {
        if (--alive == 0) blocks.reset();
    }

    millpond::monotonic<> blocks;
    std::size_t alive = 0;
};

constexpr std::size_t pools_max = 1 << 16;
// Created when first used, and never destroyed: objects alive at the end stay alive.
void* pools[pools_max];

template <class Pool>
Pool& at(unsigned number) {
    void*& place = pools[number];
    if (place == nullptr) {
        place = std::malloc(sizeof(Pool));
        if (place == nullptr) std::abort();
        new (place) Pool;
    }
    return *std::launder(static_cast<Pool*>(place));
}

constexpr unsigned malloc_pool = 0;
constexpr std::size_t malloc_alignment = 16;

void* allocate(std::size_t bytes, std::size_t alignment, unsigned number) {
    if (number >= millpond_first_arena_pool) return at<arena>(number).try_allocate(bytes, alignment);
    if (number != malloc_pool) return at<pool>(number).try_allocate(bytes, alignment);
    void* block = nullptr;
    if (alignment <= malloc_alignment) return std::malloc(bytes);
    return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}

// A null pointer stands for a block of a thread that the player's C library also has, and frees by itself.
void deallocate(void* block, std::size_t bytes, std::size_t alignment, unsigned number) {
    if (block == nullptr) return;
    if (number == malloc_pool)
        std::free(block);
    else if (number >= millpond_first_arena_pool)
        at<arena>(number).deallocate(block, bytes, alignment);
    else
        at<pool>(number).deallocate(block, bytes, alignment);
}

}  // namespace

#define MILLPOND_EXPORTED extern "C" __attribute__((visibility("default"), noinline))

MILLPOND_EXPORTED void* millpond_pool_allocate(std::size_t bytes, std::size_t alignment, unsigned number,
                                               int is_zeroed) {
    void* const block = allocate(bytes, alignment, number);
    if (block != nullptr && is_zeroed != 0) std::memset(block, 0, bytes);
    return block;
}

MILLPOND_EXPORTED void millpond_pool_deallocate(void* block, std::size_t bytes, std::size_t alignment,
                                                unsigned number) {
    deallocate(block, bytes, alignment, number);
}

// Allocates a new block and copies, as a program without realloc does.
MILLPOND_EXPORTED void* millpond_pool_resize(void* old, std::size_t bytes, std::size_t alignment, std::size_t old_bytes,
                                             std::size_t old_alignment, unsigned old_number, unsigned number) {
    void* const block = allocate(bytes, alignment, number);
    if (block == nullptr) return nullptr;
    std::memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    deallocate(old, old_bytes, old_alignment, old_number);
    return block;
}
