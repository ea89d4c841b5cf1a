// SPDX-License-Identifier: BSL-1.0
// basic_chunk_cache: keeps released chunks, sorted by size, up to a budget. chunk_cache is the process's own.
//
//   bin 4 KiB  ─▶│link│▒▒▒▒│─▶│link│▒▒▒▒│     a stack for each size: the chunk released last goes out first
//   bin 5 KiB
//   bin 6 KiB  ─▶│link│▒▒▒▒▒▒│                sizes: every KiB up to 8 KiB, then four an octave up to 32 MiB
//   …
//
// A page that goes back to the system costs about a thousand times an allocation when it is faulted in again, so
// chunks stay here. They are aligned to 64. Requests below 1 KiB, above 32 MiB, or aligned to more than 64 pass
// straight to the upstream.
//
// Held bytes never exceed the budget: a chunk that would go beyond it is given upstream. When the upstream has no
// memory, the cache gives it everything that it holds and asks once more.
//
// allocate, deallocate: O(1). Thread-safe: one brief_lock is held for a few instructions; a thread that does not get
// it in about a microsecond goes to the upstream instead, so no thread ever waits. A child of fork() in whose parent
// another thread held the lock at that instant works without the cache for its whole life, instead of hanging.
//
// The destructor gives everything back; of an immortal cache, one that static destructors may still use, it does
// nothing.
//
// Example:
//     millpond::basic_chunk_cache<millpond::new_delete> cache;
//     cache.deallocate(cache.allocate(5000, 16), 5000, 16);
//     assert(cache.held_bytes() == cache.good_bytes(5000));  // kept for the next one
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include "../core/alignment.hpp"
#include "../core/brief_lock.hpp"
#include "../core/concepts.hpp"
#include "../core/four_an_octave.hpp"
#include "../core/out_of_memory.hpp"
#include "../core/sanitizer.hpp"

namespace millpond {

template <block_source Upstream, bool IsImmortal = false>
class basic_chunk_cache {
  public:
    static constexpr std::size_t default_budget_bytes = std::size_t{128} << 20;
    static constexpr std::size_t chunk_alignment = 64;

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
        const unsigned bin = bin_of(bytes, alignment);
        if (bin == sizes::count) return try_upstream(bytes, alignment);
        if (void* chunk = pop(bin)) return chunk;
        return try_upstream(sizes::bytes_of(bin), chunk_alignment);
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* chunk = try_allocate(bytes, alignment)) return chunk;
        out_of_memory(bytes, alignment);
    }

    // Effects: keeps the chunk, or gives it upstream if the budget is spent. Both sizes: as they were asked for.
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        const unsigned bin = bin_of(bytes, alignment);
        if (bin == sizes::count) {
            upstream_.deallocate(chunk, bytes, alignment);
        } else if (!push(bin, chunk)) {
            upstream_.deallocate(chunk, sizes::bytes_of(bin), chunk_alignment);
        }
    }

    // Returns: what a chunk of `bytes` really holds; asking for that much costs no more.
    [[nodiscard]] static constexpr std::size_t good_bytes(std::size_t bytes) noexcept {
        const unsigned bin = bin_of(bytes, chunk_alignment);
        return bin == sizes::count ? bytes : sizes::bytes_of(bin);
    }

    // Effects: gives chunks upstream, the largest first, until at most `bytes_to_keep` are held.
    // Complexity: O(chunks given back). No other thread is held up; under heavy use by them some chunks may stay.
    void trim(std::size_t bytes_to_keep = 0) noexcept {
        for (unsigned bin = sizes::count; bin-- > 0;) {
            while (held_bytes() > bytes_to_keep) {
                void* chunk = pop(bin);
                if (chunk == nullptr) break;
                upstream_.deallocate(chunk, sizes::bytes_of(bin), chunk_alignment);
            }
        }
    }

    // Effects: from now on at most `bytes` are held; what is too much goes upstream at once. 0 switches the cache off.
    void set_budget_bytes(std::size_t bytes) noexcept {
        budget_bytes_.store(bytes, std::memory_order_relaxed);
        trim(bytes);
    }

    [[nodiscard]] std::size_t budget_bytes() const noexcept { return budget_bytes_.load(std::memory_order_relaxed); }

    // Returns: the bytes in the cache now. Another thread may change them at any time.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_.load(std::memory_order_relaxed); }

    [[nodiscard]] Upstream& upstream() noexcept { return upstream_; }

  private:
    static constexpr std::size_t smallest_chunk_bytes = 1024;
    using sizes = four_an_octave<(std::size_t{32} << 20), smallest_chunk_bytes>;

    // Lies in the first bytes of a cached chunk, the only ones that are not poisoned: a leak checker follows them.
    struct link {
        link* next;
    };

    [[nodiscard]] static constexpr unsigned bin_of(std::size_t bytes, std::size_t alignment) noexcept {
        return bytes < smallest_chunk_bytes ? sizes::count : sizes::class_of(bytes, alignment);
    }

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
        link* const first = bins_[bin];
        if (first != nullptr) {
            bins_[bin] = first->next;
            held_bytes_.store(held_bytes() - sizes::bytes_of(bin), std::memory_order_relaxed);
        }
        lock_.unlock();
        if (first != nullptr) unpoison(first, sizes::bytes_of(bin));
        return first;
    }

    [[nodiscard]] bool push(unsigned bin, void* chunk) noexcept {
        const std::size_t bytes = sizes::bytes_of(bin);
        if (!lock_.try_lock()) return false;
        const bool fits = bytes <= budget_bytes() && held_bytes() <= budget_bytes() - bytes;
        if (fits) {
            bins_[bin] = ::new (chunk) link{bins_[bin]};
            held_bytes_.store(held_bytes() + bytes, std::memory_order_relaxed);
            poison(static_cast<char*>(chunk) + sizeof(link), bytes - sizeof(link));
        }
        lock_.unlock();
        return fits;
    }

    [[no_unique_address]] Upstream upstream_;
    brief_lock lock_;
    std::atomic<std::size_t> held_bytes_{0};
    std::atomic<std::size_t> budget_bytes_{default_budget_bytes};
    link* bins_[sizes::count] = {};
};

}  // namespace millpond
