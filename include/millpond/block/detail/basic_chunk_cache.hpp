// SPDX-License-Identifier: BSL-1.0
// basic_chunk_cache: keeps released chunks, sorted by size, up to a budget. chunk_cache is the process's own.
//
//   bin 1 KiB  ─▶│link│▒▒▒▒│─▶│link│▒▒▒▒│     a stack for each size: the chunk released last goes out first
//   bin 2 KiB                  ▲
//   bin 3 KiB  ─▶│link│▒▒▒▒▒▒│ └── idle for two epochs: upstream      sizes: chunk_sizes.hpp
//
// A page that went back to the system costs about a thousand times an allocation when it is faulted in again, so chunks
// stay here. They are aligned to 64. Chunks without a bin pass straight to the upstream.
//
// Held bytes never exceed the budget: a chunk that would exceed it is given upstream. When the upstream has no memory,
// the cache gives it everything it holds and asks once more.
// Sizes that do not recur are not hoarded: when the upstream has to supply a chunk, as many bytes go back to it, from
// the bins that were asked for least recently (256 KiB stay). So repeated work finds all its chunks again, and random
// sizes do not keep one chunk of each. A peak is not hoarded either: an epoch lasts until twice the held bytes have
// been released here. A bin's smallest number of chunks during two epochs was not needed, and the releases that follow
// give that many upstream, at most four a release. A program that releases nothing more calls trim().
//
// allocate, deallocate: O(1). Thread-safe: one brief_lock is held for a few instructions. A thread that does not get it
// in about a microsecond goes to the upstream instead, so no thread ever waits. A child of fork() works without the
// cache for its whole life, instead of hanging, if another thread of its parent held the lock at that instant.
//
// The destructor gives everything back. For an immortal cache, which static destructors may still use, it does nothing.
//
// Example:
//     millpond::detail::basic_chunk_cache<millpond::new_delete> cache;
//     cache.deallocate(cache.allocate(5000, 16), 5000, 16);
//     assert(cache.held_bytes() == cache.good_bytes(5000));  // kept for the next one
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../core/abi.hpp"
#include "../../core/allocation.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/brief_lock.hpp"
#include "../../core/out_of_memory.hpp"
#include "chunk_sizes.hpp"
#include "free_chunks.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <block_source Upstream, bool IsImmortal = false>
class basic_chunk_cache {
  public:
    static constexpr std::size_t default_budget_bytes = std::size_t{128} << 20;

    // Ownership: the upstream is a member, made from the arguments.
    template <class... UpstreamArguments>
    constexpr explicit basic_chunk_cache(UpstreamArguments&&... arguments) noexcept
        : upstream_(std::forward<UpstreamArguments>(arguments)...) {}

    basic_chunk_cache(const basic_chunk_cache&) = delete;
    basic_chunk_cache& operator=(const basic_chunk_cache&) = delete;
    ~basic_chunk_cache()
        requires(IsImmortal)
    = default;
    ~basic_chunk_cache() { trim(); }

    // Returns: at least `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return try_allocate_at_least(bytes, alignment).start;
    }

    // Returns: the same, and its real size.
    [[nodiscard]] allocation try_allocate_at_least(std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned bin = chunk_sizes::bin_of(bytes, alignment);
        if (bin == chunk_sizes::count) return {try_upstream(bytes, alignment), bytes};
        return {try_allocate_from(bin), chunk_sizes::bytes_of(bin)};
    }

    // Returns: a chunk of the bin, from the cache or from the upstream; or null.
    [[nodiscard]] void* try_allocate_from(unsigned bin) noexcept {
        idle_chunks replaced;
        if (void* chunk = pop_or_replace(bin, replaced)) return chunk;
        give_upstream(replaced);
        const std::size_t bytes = chunk_sizes::bytes_of(bin);
        return try_upstream(bytes, chunk_sizes::alignment_of(bytes));
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* chunk = try_allocate(bytes, alignment)) return chunk;
        out_of_memory(bytes, alignment);
    }

    // Effects: keeps the chunk, or gives it upstream if the budget is spent. `bytes`: the size asked for, or the real
    // one.
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned bin = chunk_sizes::bin_of(bytes, alignment);
        if (bin == chunk_sizes::count) {
            upstream_.deallocate(chunk, bytes, alignment);
        } else {
            deallocate_to(bin, chunk);
        }
    }

    // Effects: as deallocate, for a chunk of the bin.
    void deallocate_to(unsigned bin, void* chunk) noexcept {
        if (!push(bin, chunk)) give_upstream(bin, chunk);
    }

    // Effects: counts releases that were kept elsewhere, so that epochs end even if none comes here.
    void note_released(std::size_t bytes) noexcept {
        if (!lock_.try_lock()) return;
        idle_chunks idle;
        end_epoch_if_due(bytes);
        collect_idle(idle);
        lock_.unlock();
        give_upstream(idle);
    }

    // Returns: the real size of a chunk of `bytes`, aligned as malloc aligns; asking for that much costs no more.
    [[nodiscard]] static constexpr std::size_t good_bytes(std::size_t bytes) noexcept {
        const unsigned bin = chunk_sizes::bin_of(bytes, 1);
        return bin == chunk_sizes::count ? bytes : chunk_sizes::bytes_of(bin);
    }

    // Returns: true if so many bytes of the budget are now set aside for chunks that are kept elsewhere. At most half
    // of the budget is.
    [[nodiscard]] bool try_reserve(std::size_t bytes) noexcept {
        if (reserved_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= budget_bytes() / 2) return true;
        unreserve(bytes);
        return false;
    }
    void unreserve(std::size_t bytes) noexcept { reserved_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

    // Effects: gives chunks upstream, the largest first, until at most `bytes_to_keep` are held. Complexity: O(chunks
    // given back). No other thread is held up; if others use the cache heavily, some chunks may stay.
    void trim(std::size_t bytes_to_keep = 0) noexcept {
        for (unsigned bin = chunk_sizes::count; bin-- > 0;) {
            while (held_bytes() > bytes_to_keep) {
                void* chunk = pop(bin);
                if (chunk == nullptr) break;
                give_upstream(bin, chunk);
            }
        }
    }

    // Effects: from now on holds at most `bytes`; the excess goes upstream at once. 0 switches the cache off.
    void set_budget_bytes(std::size_t bytes) noexcept {
        budget_bytes_.store(bytes, std::memory_order_relaxed);
        trim(bytes);
    }

    [[nodiscard]] std::size_t budget_bytes() const noexcept { return budget_bytes_.load(std::memory_order_relaxed); }

    // Returns: the bytes in the cache now. Another thread may change them at any time.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_.load(std::memory_order_relaxed); }

    [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }

  private:
    static constexpr std::size_t shortest_epoch_bytes = std::size_t{1} << 20;
    static constexpr std::size_t little_bytes = std::size_t{256} << 10;  // too little to give upstream

    struct bin_state {
        free_chunks chunks;
        std::uint32_t count = 0;
        std::uint32_t fewest = 0;         // in this epoch so far
        std::uint32_t fewest_before = 0;  // in the epoch before
        std::uint32_t idle = 0;           // to be given upstream
        std::uint64_t asked_at = 0;       // the request's number, counted over the whole cache
    };

    // The chunks that one call gives upstream after unlocking.
    struct idle_chunks {
        static constexpr unsigned most = 4;
        void* chunks[most];
        unsigned bins[most];
        unsigned count = 0;
    };

    [[nodiscard]] void* try_upstream(std::size_t bytes, std::size_t alignment) noexcept {
        void* chunk = upstream_.try_allocate(bytes, alignment);
        if (chunk == nullptr && held_bytes() > 0 && bytes <= max_bytes) {
            trim();
            chunk = upstream_.try_allocate(bytes, alignment);
        }
        return chunk;
    }

    [[nodiscard]] void* pop(unsigned bin) noexcept {
        if (!lock_.try_lock()) return nullptr;
        void* const chunk = take(bin);
        lock_.unlock();
        return chunk;
    }

    // Returns: a chunk of the bin; or null, and in `replaced` the chunks to give the upstream for the one that it
    // supplies.
    [[nodiscard]] void* pop_or_replace(unsigned bin, idle_chunks& replaced) noexcept {
        if (!lock_.try_lock()) return nullptr;
        bins_[bin].asked_at = ++requests_;
        void* const chunk = take(bin);
        if (chunk == nullptr) replace(chunk_sizes::bytes_of(bin), replaced);
        lock_.unlock();
        return chunk;
    }

    // Moves chunks of so many bytes out, under the lock. Bytes that are too large to be moved now count the next time.
    void replace(std::size_t bytes, idle_chunks& out) noexcept {
        missing_bytes_ = held_bytes() > little_bytes ? missing_bytes_ + bytes : 0;
        while (out.count < idle_chunks::most && held_bytes() > little_bytes) {
            const unsigned bin = least_recently_asked();
            if (chunk_sizes::bytes_of(bin) > missing_bytes_) return;
            missing_bytes_ -= chunk_sizes::bytes_of(bin);
            out.bins[out.count] = bin;
            out.chunks[out.count++] = take(bin);
        }
    }

    // Returns: the bin with chunks that was asked for one the longest ago. Call it under the lock, with chunks in some
    // bin.
    [[nodiscard]] unsigned least_recently_asked() const noexcept {
        unsigned found = 0;
        for (unsigned bin = 0; bin < chunk_sizes::count; ++bin) {
            if (bins_[bin].count == 0) continue;
            if (bins_[found].count == 0 || bins_[bin].asked_at < bins_[found].asked_at) found = bin;
        }
        return found;
    }

    [[nodiscard]] bool push(unsigned bin, void* chunk) noexcept {
        const std::size_t bytes = chunk_sizes::bytes_of(bin);
        if (!lock_.try_lock()) return false;
        const bool fits = held_bytes() + reserved_bytes_.load(std::memory_order_relaxed) + bytes <= budget_bytes();
        if (fits) {
            bins_[bin].chunks.push(chunk, bytes);
            ++bins_[bin].count;
            held_bytes_.store(held_bytes() + bytes, std::memory_order_relaxed);
        }
        idle_chunks idle;
        end_epoch_if_due(bytes);
        collect_idle(idle);
        lock_.unlock();
        give_upstream(idle);
        return fits;
    }

    // Call it under the lock.
    [[nodiscard]] void* take(unsigned bin) noexcept {
        bin_state& from = bins_[bin];
        void* const chunk = from.chunks.pop(chunk_sizes::bytes_of(bin));
        if (chunk == nullptr) return nullptr;
        if (--from.count < from.fewest) from.fewest = from.count;
        if (from.idle > from.count) {
            idle_ -= from.idle - from.count;
            from.idle = from.count;
        }
        held_bytes_.store(held_bytes() - chunk_sizes::bytes_of(bin), std::memory_order_relaxed);
        return chunk;
    }

    // Call it under the lock. An epoch is twice what is held: while one container only releases, no epoch ends.
    void end_epoch_if_due(std::size_t released_bytes) noexcept {
        released_bytes_ += released_bytes;
        if (released_bytes_ < shortest_epoch_bytes || released_bytes_ / 2 < held_bytes()) return;
        released_bytes_ = 0;
        idle_ = 0;
        for (bin_state& bin : bins_) {
            bin.idle = bin.fewest < bin.fewest_before ? bin.fewest : bin.fewest_before;
            bin.fewest_before = bin.fewest - bin.idle;
            bin.fewest = bin.count - bin.idle;
            idle_ += bin.idle;
        }
    }

    // Moves a few idle chunks out, the largest first, under the lock.
    void collect_idle(idle_chunks& out) noexcept {
        for (unsigned bin = chunk_sizes::count; idle_ > 0 && out.count < idle_chunks::most && bin-- > 0;) {
            while (bins_[bin].idle > 0 && out.count < idle_chunks::most) {
                const std::uint32_t fewest = bins_[bin].fewest;
                --bins_[bin].idle;
                --idle_;
                out.bins[out.count] = bin;
                out.chunks[out.count++] = take(bin);
                bins_[bin].fewest = fewest;  // it was not in demand
            }
        }
    }

    void give_upstream(const idle_chunks& idle) noexcept {
        for (unsigned i = 0; i < idle.count; ++i) give_upstream(idle.bins[i], idle.chunks[i]);
    }

    void give_upstream(unsigned bin, void* chunk) noexcept {
        const std::size_t bytes = chunk_sizes::bytes_of(bin);
        upstream_.deallocate(chunk, bytes, chunk_sizes::alignment_of(bytes));
    }

    [[no_unique_address]] Upstream upstream_;
    brief_lock lock_;
    std::atomic<std::size_t> held_bytes_{0};
    std::atomic<std::size_t> budget_bytes_{default_budget_bytes};
    std::atomic<std::size_t> reserved_bytes_{0};
    std::size_t released_bytes_ = 0;  // in this epoch
    std::size_t missing_bytes_ = 0;   // given by the upstream and not replaced yet
    std::uint64_t requests_ = 0;
    std::uint32_t idle_ = 0;  // chunks, in all bins
    bin_state bins_[chunk_sizes::count] = {};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
