// SPDX-License-Identifier: BSL-1.0
// chunk_cache: the process-wide cache of released chunks, and the default block source of every allocator.
//
//   thread 1:  monotonic<> a ─┐
//              multipool<> b ─┴─▶ magazine (≤ 256 KiB) ─┐    bins of chunks, up to the budget (128 MiB unless set)
//   thread 2:  multipool<> c ───▶ magazine (≤ 256 KiB) ─┴─▶  one basic_chunk_cache for the whole process
//                                                            └─▶ new_delete
//
// An object of this class is an empty handle; all of them refer to the same cache, and compare equal.
// Use it wherever allocators come and go: the next one starts in pages that already have memory. To return memory to
// the system with the allocator, use new_delete, or call chunk_cache::trim() at a quiet moment.
//
// Budget: each open magazine counts in full, and all of them take at most half of it; beyond that a thread gets no
// magazine. Memory that a peak left behind goes back to the system as releases go on (basic_chunk_cache says when).
//
// Start and exit: the cache is constant-initialised and never destroyed, so constructors and destructors of static
// objects may use it in any order. A thread that ends hands its magazine to the shared part; destructors that run later
// in that thread use the shared part. Chunks held at exit stay reachable: leak checkers report none of them.
//
// fork: the child has its own copy of the cache and goes on with it. It loses the magazines of the parent's other
// threads. If one of those threads was inside the shared part at that instant, the child works without that part
// (basic_chunk_cache says why it cannot hang).
//
// allocate, deallocate: O(1); within the magazine without any atomic operation. Thread-safe.
//
// Example:
//     millpond::chunk_cache::set_budget_bytes(16 << 20);
//     { millpond::multipool<> pool; }
//     millpond::chunk_cache::trim();  // everything back to operator delete
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../core/abi.hpp"
#include "../core/allocation.hpp"
#include "../core/concepts.hpp"
#include "../core/out_of_memory.hpp"
#include "../os/pages.hpp"
#include "../os/thread_end.hpp"
#include "detail/basic_chunk_cache.hpp"
#include "detail/chunk_magazine.hpp"
#include "detail/chunk_sizes.hpp"
#include "new_delete.hpp"

namespace millpond::inline MILLPOND_ABI {

class chunk_cache {
    using cache = detail::basic_chunk_cache<new_delete, true>;

  public:
    using pages = os::pages;  // ordinary process memory, so a pool may reserve pages of its own
    static constexpr std::size_t default_budget_bytes = cache::default_budget_bytes;
    // The most bytes that the magazine of another thread holds, in addition to held_bytes().
    static constexpr std::size_t magazine_bytes = detail::chunk_magazine::capacity_bytes;

    // Returns: at least `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return try_allocate_at_least(bytes, alignment).start;
    }

    // Returns: the same, and its real size.
    [[nodiscard]] allocation try_allocate_at_least(std::size_t bytes, std::size_t alignment) noexcept {
        const allocation ready = try_allocate_at_hand(bytes, alignment);
        return ready.start != nullptr ? ready : try_allocate_slowly(bytes, alignment);
    }

    // Returns: the same if this thread's magazine has it, in a few loads without a call; else null.
    [[nodiscard, gnu::always_inline]] static allocation try_allocate_at_hand(std::size_t bytes,
                                                                             std::size_t alignment) noexcept {
        if (!detail::chunk_sizes::is_common(bytes, alignment)) [[unlikely]]
            return {nullptr, 0};
        const unsigned bin = detail::chunk_sizes::common_bin_of(bytes);
        return {magazine_.pop(bin), detail::chunk_magazine::bytes_of(bin)};
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* chunk = try_allocate(bytes, alignment)) return chunk;
        out_of_memory(bytes, alignment);
    }

    // Effects: keeps the chunk for the next allocator, or gives it to operator delete if the budget is spent.
    [[gnu::always_inline]] void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        if (detail::chunk_sizes::is_common(bytes, alignment)) [[likely]] {
            if (magazine_.push(detail::chunk_sizes::common_bin_of(bytes), chunk)) [[likely]]
                return;
        }
        deallocate_slowly(chunk, bytes, alignment);
    }

    // Returns: the real size of a chunk of `bytes`, aligned as malloc aligns; asking for that much costs no more.
    [[nodiscard]] static constexpr std::size_t good_bytes(std::size_t bytes) noexcept {
        return cache::good_bytes(bytes);
    }

    // Effects: gives chunks to operator delete until at most `bytes_to_keep` are held. The magazine of another thread
    // is emptied by that thread, with its next 256 releases.
    static void trim(std::size_t bytes_to_keep = 0) noexcept {
        close();
        trims_.fetch_add(1, std::memory_order_relaxed);
        shared().trim(bytes_to_keep);
    }

    // Effects: from now on holds at most `bytes`; the excess goes back as by trim. 0 switches the cache off.
    static void set_budget_bytes(std::size_t bytes) noexcept {
        close();
        trims_.fetch_add(1, std::memory_order_relaxed);
        shared().set_budget_bytes(bytes);
    }

    [[nodiscard]] static std::size_t budget_bytes() noexcept { return shared().budget_bytes(); }

    // Returns: the bytes in the shared part and in the magazine of this thread.
    [[nodiscard]] static std::size_t held_bytes() noexcept { return shared().held_bytes() + magazine_.held_bytes(); }

  private:
    struct end_of_thread {
        void operator()() const noexcept {
            const bool was_open = magazine_.is_open();
            if (was_open) shared().unreserve(magazine_bytes);
            magazine_.end(hand_over);
        }
    };

    // Finds larger chunks that the magazine may have, and all that it has not. It also registers for the thread's end
    // now: thread-specific data that contains a pool is destroyed after thread-local objects, when it is too late to
    // register.
    [[nodiscard, gnu::noinline]] static allocation try_allocate_slowly(std::size_t bytes,
                                                                       std::size_t alignment) noexcept {
        const unsigned bin = detail::chunk_sizes::bin_of(bytes, alignment);
        if (bin < detail::chunk_magazine::bins) {
            if (void* chunk = magazine_.pop(bin)) return {chunk, detail::chunk_magazine::bytes_of(bin)};
        }
        const allocation found = shared().try_allocate_at_least(bytes, alignment);
        if (found.start != nullptr) await_thread_end();  // registering needs memory
        return found;
    }

    [[gnu::noinline]] static void deallocate_slowly(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        if (!magazine_.is_open()) {
            open();
        } else if (magazine_.is_report_due()) {
            magazine_.report();
            shared().note_released(detail::chunk_magazine::report_bytes);
            if (magazine_.trims_seen() != trims_.load(std::memory_order_relaxed)) {
                follow_trim();
                open();
            }
        }
        const unsigned bin = detail::chunk_sizes::bin_of(bytes, alignment);
        if (bin < detail::chunk_magazine::bins && magazine_.push(bin, chunk)) return;
        shared().deallocate(chunk, bytes, alignment);
    }

    static void open() noexcept {
        if (magazine_.has_ended() || !may_open() || !shared().try_reserve(magazine_bytes)) return;
        await_thread_end();
        magazine_.open(trims_.load(std::memory_order_relaxed));
    }

    static void await_thread_end() noexcept {
        os::at_thread_end<end_of_thread>::arm();
        awaits_end_ = true;
    }

    // Tells whether a magazine may open: the first releases of a thread that allocated nothing may be its last acts.
    [[nodiscard]] static bool may_open() noexcept {
        if (awaits_end_ || early_releases_ == early_releases_max) return true;
        ++early_releases_;
        return false;
    }

    static void close() noexcept {
        if (!magazine_.is_open()) return;
        shared().unreserve(magazine_bytes);
        magazine_.close(hand_over);
    }

    // Another thread has trimmed the cache: this thread gives up as much as it would have given up then.
    static void follow_trim() noexcept {
        const std::size_t mine = magazine_.held_bytes();
        close();
        const std::size_t held = shared().held_bytes();
        shared().trim(held > mine ? held - mine : 0);
    }

    static void hand_over(unsigned bin, void* chunk) noexcept { shared().deallocate_to(bin, chunk); }

    // Both are constant-initialised and trivially destroyed, so an access needs no guard and never comes too late.
    [[nodiscard]] static cache& shared() noexcept {
        static constinit cache instance;
        return instance;
    }

    static constexpr std::uint8_t early_releases_max = 16;

    static inline thread_local constinit detail::chunk_magazine magazine_;
    static inline thread_local constinit bool awaits_end_ = false;
    static inline thread_local constinit std::uint8_t early_releases_ = 0;
    static inline std::atomic<std::size_t> trims_{0};
};

[[nodiscard]] constexpr bool operator==(const chunk_cache&, const chunk_cache&) noexcept { return true; }

template <>
inline constexpr bool is_thread_safe_source<chunk_cache> = true;

}  // namespace millpond::inline MILLPOND_ABI
