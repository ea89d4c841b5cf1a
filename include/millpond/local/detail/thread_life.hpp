// SPDX-License-Identifier: BSL-1.0
// thread_life: what others may still ask of a thread when it is gone: whether it has ended.
//
//   thread ──ends──▶ │references│ended│ ◀── magazine of pool a      the last reference frees it
//                                      ◀── magazine of pool b
//
// synchronized_multipool notes with each magazine whose it is; the magazine of a thread that has ended is free for
// others. The thread touches no pool when it ends and a pool touches no thread when it goes, so neither waits for the
// other and no order has to be kept. Also here, because it goes with the thread: the table in which a thread finds its
// magazines by the number of their pool.
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

namespace millpond::inline MILLPOND_ABI::detail {

// Where a thread looks first for what a pool keeps for it. Pools have numbers because addresses are used again.
struct thread_table {
    // Numbers are multiples of 16 and never used again. Neighbours in number share no entry: two pools that do displace
    // each other, and are found the long way.
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
    // Returns: that of the calling thread; null if it is past its end, or there was no memory.
    [[nodiscard]] static thread_life* of_this_thread() noexcept {
        return mine != nullptr || is_past_end ? mine : begin();
    }

    // Returns: the same for a free: null for the first 16 of a thread that has none, too. In a destructor of
    // thread-specific data, which comes behind ours, the first free of a thread would begin a life without an end.
    [[nodiscard]] static thread_life* of_freeing_thread() noexcept {
        if (mine != nullptr || is_past_end) return mine;
        if (early_frees == early_frees_max) return begin();
        ++early_frees;
        return nullptr;
    }

    // Returns: how many threads have ended so far. What they did is visible to who sees them counted.
    [[nodiscard]] static std::uint64_t ended_so_far() noexcept { return ended_count.load(std::memory_order_acquire); }

    [[nodiscard]] bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    // Effects: one more reference, one less. A reference holds the object and not the thread.
    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

  private:
    // Its destructor is the end of the thread, as far as we can see it. Later destructors may still use pools.
    struct end_of_thread {
        ~end_of_thread() {
            is_past_end = true;
            table_of_this_thread = {};
            if (mine == nullptr) return;
            mine->ended_.store(true, std::memory_order_release);
            ended_count.fetch_add(1, std::memory_order_release);
            mine->drop();
            mine = nullptr;
        }
        bool is_armed = false;
    };

    thread_life() = default;

    [[gnu::noinline, gnu::cold]] static thread_life* begin() noexcept {
        static thread_local end_of_thread end;
        end.is_armed = true;
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
