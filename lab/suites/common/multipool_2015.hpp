// SPDX-License-Identifier: BSL-1.0
// multipool_2015: a multipool as libraries had them when P0089R0 was measured; it explains that paper's figures.
//
//   pools_ ─▶│ 8 │ 16 │ 32 │ … │ 4096 │     ten pools, built by the constructor in memory of the upstream
//              └▶│link│header│ block │header│ block │ …     chunks of 1, 2, 4 … at most 32 blocks
//                      ▲ the 16 bytes before each block name its pool
//
//
//   multipool_2015                      over peer_upstream          the paper's "multipool", unsynchronized
//   multipool_2015_over<monotonic<>>    over a monotonic of its own "multipool backed by a monotonic allocator"
//   locked_2015<either of them>         behind a lock of 2015        the same, synchronized
//
// Only for benchmarks. As in 2015: sizes are powers of two; a block above 4096 bytes comes from the upstream, and is
// linked for release; freeing needs no size; the upstream is behind a virtual call; allocate and deallocate are calls,
// not inlined. Alignments above 16 are not supported. O(1). Not thread-safe, except locked_2015.
#pragma once

#include <bit>
#include <cstddef>
#include <memory_resource>
#include <new>

#include "millpond/bind/resource.hpp"
#include "millpond/wrap/synchronized.hpp"
#include "mutex_2015.hpp"
#include "peer_upstream.hpp"

namespace millpond::suites {

class pool_2015 {
  public:
    pool_2015(std::size_t block_bytes, std::pmr::memory_resource* upstream) noexcept
        : block_bytes_(block_bytes), upstream_(upstream) {}

    void* allocate() {
        if (freed_ != nullptr) {
            link* const block = freed_;
            freed_ = block->next;
            return block;
        }
        if (next_ == end_) replenish();
        void* const block = next_;
        next_ += block_bytes_;
        return block;
    }
    void deallocate(void* block) noexcept { freed_ = ::new (block) link{freed_}; }

    void release() noexcept {
        while (chunks_ != nullptr) {
            chunk* const gone = chunks_;
            chunks_ = gone->next;
            upstream_->deallocate(gone, gone->bytes, alignof(chunk));
        }
    }

  private:
    static constexpr std::size_t most_blocks = 32;

    struct link {
        link* next;
    };
    struct alignas(16) chunk {
        chunk* next;
        std::size_t bytes;
    };

    void replenish() {
        const std::size_t bytes = sizeof(chunk) + blocks_ * block_bytes_;
        chunks_ = ::new (upstream_->allocate(bytes, alignof(chunk))) chunk{chunks_, bytes};
        next_ = reinterpret_cast<char*>(chunks_ + 1);
        end_ = next_ + blocks_ * block_bytes_;
        if (blocks_ < most_blocks) blocks_ *= 2;
    }

    std::size_t block_bytes_;
    std::size_t blocks_ = 1;  // in the next chunk
    link* freed_ = nullptr;
    char* next_ = nullptr;
    char* end_ = nullptr;
    chunk* chunks_ = nullptr;
    std::pmr::memory_resource* upstream_;
};

class multipool_2015 {
  public:
    // A larger block comes from the upstream.
    static constexpr std::size_t largest_bytes = 4096;

    multipool_2015() : multipool_2015(peer_upstream) {}
    // `upstream` must outlive this.
    explicit multipool_2015(std::pmr::memory_resource* upstream) : upstream_(upstream) {
        pools_ = static_cast<pool_2015*>(upstream_->allocate(pool_count * sizeof(pool_2015), alignof(pool_2015)));
        for (std::size_t i = 0; i < pool_count; ++i) {
            const std::size_t whole = (smallest_bytes << i) + sizeof(header);
            ::new (pools_ + i) pool_2015((whole + 15) / 16 * 16, upstream_);
        }
    }
    multipool_2015(const multipool_2015&) = delete;
    multipool_2015& operator=(const multipool_2015&) = delete;
    ~multipool_2015() {
        for (std::size_t i = 0; i < pool_count; ++i) pools_[i].release();
        while (large_ != nullptr) unlink(large_);
        upstream_->deallocate(pools_, pool_count * sizeof(pool_2015), alignof(pool_2015));
    }

    [[gnu::noinline]] void* allocate(std::size_t bytes, std::size_t) {
        if (bytes > largest_bytes) return allocate_large(bytes);
        const auto index = static_cast<unsigned>(std::bit_width((bytes - (bytes != 0)) / smallest_bytes));
        return ::new (pools_[index].allocate()) header{index} + 1;
    }
    // Required by this shape of allocator; never called where an exception must not pass.
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        try {
            return allocate(bytes, alignment);
        } catch (...) {
            return nullptr;
        }
    }
    [[gnu::noinline]] void deallocate(void* block, std::size_t, std::size_t) noexcept {
        header* const found = static_cast<header*>(block) - 1;
        if (found->pool == pool_count) {
            unlink(reinterpret_cast<large*>(found + 1) - 1);
        } else {
            pools_[found->pool].deallocate(found);
        }
    }

  private:
    static constexpr std::size_t pool_count = 10;
    static constexpr std::size_t smallest_bytes = 8;
    static_assert(largest_bytes == smallest_bytes << (pool_count - 1));

    struct alignas(16) header {
        std::size_t pool;
    };
    struct alignas(16) large {
        large* previous;
        large* next;
        std::size_t bytes;
        std::size_t unused;
        header mark;
    };

    void* allocate_large(std::size_t bytes) {
        const std::size_t whole = sizeof(large) + bytes;
        large_ = ::new (upstream_->allocate(whole, alignof(large))) large{nullptr, large_, whole, 0, {pool_count}};
        if (large_->next != nullptr) large_->next->previous = large_;
        return large_ + 1;
    }

    void unlink(large* gone) noexcept {
        (gone->previous != nullptr ? gone->previous->next : large_) = gone->next;
        if (gone->next != nullptr) gone->next->previous = gone->previous;
        upstream_->deallocate(gone, gone->bytes, alignof(large));
    }

    pool_2015* pools_;
    large* large_ = nullptr;
    std::pmr::memory_resource* upstream_;
};

// Constructed before the pool over it, and destroyed after it.
template <class Allocator>
struct backing_2015 {
    resource<Allocator> backing;
};

template <class Allocator>
class multipool_2015_over : backing_2015<Allocator>, public multipool_2015 {
  public:
    multipool_2015_over() : multipool_2015(&this->backing) {}
};

template <class Pool>
using locked_2015 = synchronized<Pool, mutex_2015>;

}  // namespace millpond::suites
