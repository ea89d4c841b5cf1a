// SPDX-License-Identifier: BSL-1.0
// thread_life: a reference-counted flag that outlives its thread and tells whether the thread has ended.
//
//   thread ──ends──▶ │references│ended│ ◀── magazine of pool a      the last reference frees it
//                                      ◀── magazine of pool b
//
// synchronized_multipool notes the owner of each magazine; the magazine of a thread that has ended is free for others.
// A thread touches no pool when it ends, and a pool touches no thread when it is destroyed, so neither waits for the
// other and the order does not matter. The table in which a thread finds its magazines, by the number of their pool, is
// also here, because it ends with the thread.
//
// In a child of fork() the threads that it does not have never end. O(1). Thread-safe.
//
// Example:
//     millpond::detail::thread_life* mine = nullptr;
//     std::thread([&] { (mine = millpond::detail::thread_life::of_this_thread())->keep(); }).join();
//     assert(mine->has_ended());
//     mine->drop();
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../../core/abi.hpp"
#include "../../os/thread_end.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// The table in which a thread first looks for its part of a pool. Pools have numbers because addresses are used again.
struct thread_table {
    // Numbers are multiples of 16 and never used again. Pools with neighbouring numbers share no entry. Two pools that
    // share one displace each other, and are then found by a search.
    static constexpr std::uint64_t number_step = 16;
    static constexpr std::size_t entries_count = 16;

    struct entry {
        std::uint64_t number;
        void* magazine;
    };

    [[nodiscard]] entry& of(std::uint64_t number) noexcept { return entries[number / number_step % entries_count]; }

    [[nodiscard]] static std::uint64_t new_number() noexcept {
        return next_number.fetch_add(number_step, std::memory_order_relaxed);
    }

    entry entries[entries_count];

  private:
    static inline constinit std::atomic<std::uint64_t> next_number{number_step};
};

inline thread_local constinit thread_table table_of_this_thread{};

class thread_life {
  public:
    // Returns: the object of the calling thread; null if the thread is past its end, or there was no memory.
    [[nodiscard]] static thread_life* of_this_thread() noexcept {
        return mine != nullptr || is_past_end ? mine : begin();
    }

    // Returns: the same for a free, but also null for the first 16 frees of a thread without one. Otherwise a first
    // free in a destructor of thread-specific data, which runs after ours, would begin a life without an end.
    [[nodiscard]] static thread_life* of_freeing_thread() noexcept {
        if (mine != nullptr || is_past_end) return mine;
        if (early_frees == early_frees_max) return begin();
        ++early_frees;
        return nullptr;
    }

    // Returns: the number of threads that have ended so far. A thread that sees an end counted also sees what that
    // thread did.
    [[nodiscard]] static std::uint64_t ended_so_far() noexcept { return ended_count.load(std::memory_order_acquire); }

    [[nodiscard]] bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    // Effects: adds or drops a reference. A reference keeps the object alive, not the thread.
    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

  private:
    // Marks the end of the thread, as far as it can be observed. Later destructors may still use pools.
    struct end {
        void operator()() const noexcept {
            is_past_end = true;
            table_of_this_thread = {};
            if (mine == nullptr) return;
            mine->ended_.store(true, std::memory_order_release);
            ended_count.fetch_add(1, std::memory_order_release);
            mine->drop();
            mine = nullptr;
        }
    };

    thread_life() = default;

    [[gnu::noinline, gnu::cold]] static thread_life* begin() noexcept {
        os::at_thread_end<end>::arm();
        return mine = new (std::nothrow) thread_life;
    }

    static inline thread_local constinit thread_life* mine = nullptr;
    static inline thread_local constinit bool is_past_end = false;
    static inline thread_local constinit std::uint8_t early_frees = 0;
    static constexpr std::uint8_t early_frees_max = 16;
    static inline constinit std::atomic<std::uint64_t> ended_count{0};

    std::atomic<std::uint32_t> references_{1};
    std::atomic<bool> ended_{false};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
