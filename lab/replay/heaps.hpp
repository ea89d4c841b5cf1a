// SPDX-License-Identifier: BSL-1.0
// heaps: plays the operations of a script: on malloc, on a pool for each of the script's pools, or on nothing.
//
//   allocate(record)              null if there is no memory     malloc_heap   the process's malloc, for every pool
//   deallocate(record, block)                                    pooled_heap   an allocator of ours a pool, 0: malloc
//   resize(from, to, block)       as realloc: moves and copies   null_heap     a scratch area: the loop's own cost
//
// A heap is a template parameter of the player, so that its calls inline as they do in a program. Blocks are asked for
// with the alignment that was recorded, or else what malloc would give (a pool of a plan, as in a trial), or else what
// a type of that size can need at most (16 for multiples of 16, otherwise 8). O(1) on top of the allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "lab/replay/page_array.hpp"
#include "lab/replay/script.hpp"
#include "millpond/core/concepts.hpp"
#include "millpond/core/detail/sanitizer.hpp"

namespace millpond::replay {

class malloc_heap {
  public:
    static constexpr bool is_null = false;

    void* allocate(const record& r) noexcept {
        if (r.alignment_log2() > 4) [[unlikely]]
            return allocate_aligned(r);
        return r.zeroed() ? std::calloc(1, r.bytes()) : std::malloc(r.bytes());
    }
    void deallocate(const record&, void* block) noexcept { std::free(block); }
    // realloc(p, 0) would free.
    void* resize(const record&, const record& to, void* block) noexcept {
        return std::realloc(block, to.bytes() == 0 ? 1 : to.bytes());
    }

  private:
    [[gnu::noinline]] static void* allocate_aligned(const record& r) noexcept {
        void* block = nullptr;
        if (::posix_memalign(&block, std::size_t{1} << r.alignment_log2(), r.bytes()) != 0) return nullptr;
        if (r.zeroed()) std::memset(block, 0, r.bytes());
        return block;
    }
};

class null_heap {
  public:
    static constexpr bool is_null = true;
    static constexpr std::size_t scratch_bytes = std::size_t{32} << 10;

    // Threads that play at once have areas of their own.
    explicit null_heap(std::size_t threads) : areas_(threads < areas_max ? threads + 1 : areas_max), scratch_(areas_) {}

    void* allocate(const record& r) noexcept { return scratch_[r.thread() % areas_].bytes; }
    void deallocate(const record&, void*) noexcept {}
    void* resize(const record&, const record&, void* block) noexcept { return block; }

  private:
    static constexpr std::size_t areas_max = 64;
    struct alignas(64) area {  // a line
        char bytes[scratch_bytes];
    };

    std::size_t areas_;
    page_array<area> scratch_;
};

struct no_mutex {
    void lock() noexcept {}
    void unlock() noexcept {}
};

// ReleaseWhenEmpty: the allocator's memory is released when none of its objects lives.
template <managed_allocator Allocator, bool ReleaseWhenEmpty, class Mutex>
class pooled_heap {
  public:
    static constexpr bool is_null = false;

    // `pools`: position 0 is malloc. `alignment_of_malloc`: blocks above 8 bytes are aligned to 16, whatever their
    // size.
    pooled_heap(std::span<const script_pool> pools, bool alignment_of_malloc)
        : pools_(pools.size()), aligned_mask_(alignment_of_malloc ? 0 : 15) {
        for (std::size_t i = 1; i < pools.size(); ++i) (new (&pools_[i]) pool)->shared = pools[i].shared != 0;
    }

    void* allocate(const record& r) noexcept {
        if (r.pool() == malloc_pool) return malloc_.allocate(r);
        pool& from = at(r.pool());
        const guard locked(from);
        void* const block = from.blocks.try_allocate(r.bytes(), alignment_of(r));
        from.live += block != nullptr;
        if (r.zeroed() && block != nullptr) std::memset(block, 0, r.bytes());
        return block;
    }

    void deallocate(const record& r, void* block) noexcept {
        if (r.pool() == malloc_pool) return malloc_.deallocate(r, block);
        pool& to = at(r.pool());
        const guard locked(to);
        to.blocks.deallocate(block, r.bytes(), alignment_of(r));
        --to.live;
        if constexpr (ReleaseWhenEmpty) {
            if (to.live == 0) to.blocks.release();
        }
    }

    void* resize(const record& from, const record& to, void* block) noexcept {
        if (from.pool() == to.pool()) {
            if (to.pool() == malloc_pool) return malloc_.resize(from, to, block);
            if (stays(from, to)) {
                detail::unpoison(block, to.bytes());
                return block;
            }
        }
        void* const fresh = allocate(to);
        if (fresh == nullptr) return nullptr;
        std::memcpy(fresh, block, from.bytes() < to.bytes() ? from.bytes() : to.bytes());
        deallocate(from, block);
        return fresh;
    }

    // Returns all pools' memory to its source, for code that runs after the round.
    void release() noexcept {
        for (std::size_t i = 1; i < pools_.size(); ++i) at(i).blocks.release();
    }

  private:
    struct alignas(64) pool {
        Allocator blocks;
        std::uint64_t live = 0;
        Mutex mutex;
        bool shared = false;
    };
    // Never destroyed: objects alive at the end stay alive.
    struct alignas(pool) storage {
        unsigned char bytes[sizeof(pool)];
    };
    class guard {
      public:
        explicit guard(pool& of) noexcept : locked_(of.shared ? &of.mutex : nullptr) {
            if (locked_ != nullptr) locked_->lock();
        }
        ~guard() {
            if (locked_ != nullptr) locked_->unlock();
        }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

      private:
        Mutex* locked_;
    };

    pool& at(std::size_t i) noexcept { return *std::launder(reinterpret_cast<pool*>(&pools_[i])); }

    std::size_t alignment_of(const record& r) const noexcept {
        if (r.alignment_log2() != 0) [[unlikely]]
            return std::size_t{1} << r.alignment_log2();
        return (r.bytes() & aligned_mask_) != 0 || r.bytes() <= 8 ? 8 : 16;
    }

    // Returns whether the block that holds `from` is the one that `to` would get.
    bool stays(const record& from, const record& to) const noexcept {
        if constexpr (requires { Allocator::block_bytes(8, 8); }) {
            const std::size_t held = Allocator::block_bytes(from.bytes(), alignment_of(from));
            return held != 0 && held == Allocator::block_bytes(to.bytes(), alignment_of(to));
        }
        return from.bytes() == to.bytes();
    }

    page_array<storage> pools_;
    std::uint64_t aligned_mask_;
    malloc_heap malloc_;
};

}  // namespace millpond::replay
