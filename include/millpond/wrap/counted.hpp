// SPDX-License-Identifier: BSL-1.0
// counted: a layer over any allocator that counts its calls, bytes, live blocks and sizes.
//
//   allocate 24 ─▶ allocator beneath      counts: allocations, bytes, live and peak, failures
//                                         sizes:  how often each size, four an octave ─▶ V, exp(H)
//                                         U = peak live bytes / bytes allocated
//
// Use it in a program to measure the demands on an allocator: its V and U of DVLUC (docs/explanation/contexts.md), the
// size of buffer it needs (peak_live_bytes), or whether a hot loop allocates. Above an allocator it counts requests; as
// its source, as in multipool<counted<chunk_cache>>, it counts chunks. It costs a few instructions a call and about 2
// KiB.
//
// record() is that of the classic allocators (classic/heap_record.hpp), as far as counts allow: blocks, and the bytes
// requested, in blocks (from A::block_bytes, else those requested) and held. Free blocks and lists are 0.
//
// After rewind, the smaller of the bytes live at the checkpoint and now counts as live, because frees of older and of
// newer blocks are not told apart. Reading is free; V is O(256). Thread-safety: none, whatever the allocator's; for
// several threads use synchronized<counted<A>>.
//
// Example:
//     millpond::counted<millpond::multipool<>> pool;
//     void* a = pool.allocate(24, 8);
//     void* b = pool.allocate(100, 8);
//     pool.deallocate(a, 24, 8);
//     assert(pool.counts().allocations == 2 && pool.counts().live_bytes == 100 && pool.utilization() == 1.0);
//     pool.deallocate(b, 100, 8);
//     pool.print("example");
#pragma once

#include <cinttypes>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "../block/source_ref.hpp"
#include "../classic/heap_record.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/kept_exception.hpp"
#include "detail/checkpoint_of.hpp"
#include "size_histogram.hpp"

namespace millpond::inline MILLPOND_ABI {

// Counts since the allocator was made or clear was called. Blocks and bytes are those requested.
struct allocation_counts {
    std::uint64_t allocations = 0;  // successful ones
    std::uint64_t failures = 0;
    std::uint64_t deallocations = 0;
    std::uint64_t drops = 0;  // resets, releases and rewinds
    std::uint64_t bytes_allocated = 0;
    std::uint64_t live_blocks = 0;
    std::uint64_t live_bytes = 0;
    std::uint64_t live_block_bytes = 0;  // in the blocks that hold them
    std::uint64_t peak_live_blocks = 0;
    std::uint64_t peak_live_bytes = 0;
};

template <block_source A>
class counted : public detail::chunk_size_of<A>, public detail::reuse_of<A> {
  public:
    class checkpoint_type {
        friend counted;
        checkpoint_type(detail::checkpoint_of<A> place, const allocation_counts& counts) noexcept
            : place_(place), then_(counts) {}
        detail::checkpoint_of<A> place_;
        allocation_counts then_;
    };

    // Ownership: the allocator is a member, made from the arguments.
    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    explicit counted(Arguments&&... arguments) : allocator_(std::forward<Arguments>(arguments)...) {}

    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;

    // Returns: what the allocator returns.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = allocator_.try_allocate(bytes, alignment);
        note(block, bytes, alignment);
        return block;
    }

    // Throws: what the allocator throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* block = nullptr;  // still null if it throws: a failure
        const noted_at_end noted{*this, block, bytes, alignment};
        return block = detail::allocate_from(allocator_, bytes, alignment);
    }

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept
        requires slab_source<A>
    {
        void* const block = allocator_.try_allocate_slab(bytes, alignment, block_bytes);
        note(block, bytes, alignment);
        return block;
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        ++counts_.deallocations;
        --counts_.live_blocks;
        counts_.live_bytes -= bytes;
        counts_.live_block_bytes -= bytes_of_block(bytes, alignment);
        allocator_.deallocate(block, bytes, alignment);
    }

    void reset() noexcept
        requires managed_allocator<A>
    {
        allocator_.reset();
        drop_to({});
    }

    void release() noexcept
        requires managed_allocator<A>
    {
        allocator_.release();
        drop_to({});
    }

    [[nodiscard]] checkpoint_type checkpoint() const noexcept
        requires rewindable_allocator<A>
    {
        return {allocator_.checkpoint(), counts_};
    }

    void rewind(checkpoint_type place) noexcept
        requires rewindable_allocator<A>
    {
        allocator_.rewind(place.place_);
        drop_to(place.then_);
    }

    [[nodiscard]] std::size_t held_bytes() const noexcept
        requires requires(const A& allocator) { allocator.held_bytes(); }
    {
        return allocator_.held_bytes();
    }

    [[nodiscard]] const allocation_counts& counts() const noexcept { return counts_; }
    [[nodiscard]] const size_histogram& sizes() const noexcept { return sizes_; }

    // O(1), or as the record of A if A has one.
    [[nodiscard]] classic::heap_record record() const noexcept {
        classic::heap_record found;
        if constexpr (requires { found = allocator_.record(); }) {
            found = allocator_.record();
        } else {
            found.use.blocks = static_cast<std::size_t>(counts_.live_blocks);
            found.use.block_bytes = static_cast<std::size_t>(counts_.live_block_bytes);
            if constexpr (requires { allocator_.held_bytes(); }) found.use.held_bytes = allocator_.held_bytes();
        }
        if (!found.is_counted) {
            found.done.allocations = counts_.allocations;
            found.done.deallocations = counts_.deallocations;
            found.done.requested_bytes = counts_.bytes_allocated;
        }
        found.done.live_requested_bytes = counts_.live_bytes;
        found.done.unsized_deallocations = 0;
        found.is_counted = true;
        return found;
    }

    // Returns: V of DVLUC, in [0, 1).
    [[nodiscard]] double variation() const noexcept { return sizes_.variation(); }

    // Returns: U of DVLUC, in [0, 1]: 1 if no memory was ever reused, 0 if nothing was allocated.
    [[nodiscard]] double utilization() const noexcept {
        if (counts_.bytes_allocated == 0) return 0;
        return static_cast<double>(counts_.peak_live_bytes) / static_cast<double>(counts_.bytes_allocated);
    }

    // Effects: counts from here on; the live blocks and bytes are the new peak and count as allocated.
    void clear() noexcept {
        counts_ = {.bytes_allocated = counts_.live_bytes,
                   .live_blocks = counts_.live_blocks,
                   .live_bytes = counts_.live_bytes,
                   .live_block_bytes = counts_.live_block_bytes,
                   .peak_live_blocks = counts_.live_blocks,
                   .peak_live_bytes = counts_.live_bytes};
        sizes_ = {};
    }

    // Effects: writes a summary of two lines, and one line for each size class that was used.
    void print(const char* name, std::FILE* file = stdout) const {
        const allocation_counts& c = counts_;
        std::fprintf(file,
                     "%s: %" PRIu64 " allocations, %" PRIu64 " deallocations, %" PRIu64 " failures, %" PRIu64
                     " bytes; live %" PRIu64 " blocks, %" PRIu64 " bytes; peak %" PRIu64 " blocks, %" PRIu64 " bytes\n",
                     name, c.allocations, c.deallocations, c.failures, c.bytes_allocated, c.live_blocks, c.live_bytes,
                     c.peak_live_blocks, c.peak_live_bytes);
        std::fprintf(file, "%s: V %.3f (effective sizes %.1f), U %.3f\n", name, variation(), sizes_.effective_sizes(),
                     utilization());
        for (unsigned i = 0; i < size_histogram::classes; ++i) {
            if (const std::uint64_t count = sizes_.count_in(i))
                std::fprintf(file, "%s: %12" PRIu64 " × up to %zu bytes\n", name, count, size_histogram::largest_of(i));
        }
    }

    [[nodiscard]] A& target() noexcept { return allocator_; }

  private:
    struct noted_at_end {
        counted& counts;
        void* const& block;
        std::size_t bytes;
        std::size_t alignment;
        ~noted_at_end() { counts.note(block, bytes, alignment); }
    };

    [[nodiscard]] static std::size_t bytes_of_block(std::size_t bytes,
                                                    [[maybe_unused]] std::size_t alignment) noexcept {
        if constexpr (requires { A::block_bytes(bytes, alignment); }) {
            const std::size_t found = A::block_bytes(bytes, alignment);
            return found != 0 ? found : bytes;  // 0: the allocator's source serves it
        } else {
            return bytes;
        }
    }

    void note(const void* block, std::size_t bytes, std::size_t alignment) noexcept {
        if (block == nullptr) {
            ++counts_.failures;
            return;
        }
        ++counts_.allocations;
        counts_.bytes_allocated += bytes;
        sizes_.add(bytes);
        counts_.live_bytes += bytes;
        counts_.live_block_bytes += bytes_of_block(bytes, alignment);
        ++counts_.live_blocks;
        if (counts_.live_bytes > counts_.peak_live_bytes) counts_.peak_live_bytes = counts_.live_bytes;
        if (counts_.live_blocks > counts_.peak_live_blocks) counts_.peak_live_blocks = counts_.live_blocks;
    }

    void drop_to(const allocation_counts& then) noexcept {
        ++counts_.drops;
        if (then.live_blocks < counts_.live_blocks) counts_.live_blocks = then.live_blocks;
        if (then.live_bytes < counts_.live_bytes) counts_.live_bytes = then.live_bytes;
        if (then.live_block_bytes < counts_.live_block_bytes) counts_.live_block_bytes = then.live_block_bytes;
    }

    A allocator_;
    allocation_counts counts_;
    size_histogram sizes_;
};

}  // namespace millpond::inline MILLPOND_ABI
