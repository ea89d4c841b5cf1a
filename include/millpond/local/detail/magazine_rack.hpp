// SPDX-License-Identifier: BSL-1.0
// magazine_rack: the magazines of one pool, one for each thread that uses it, and the look-up of a thread's own.
//
//   rack, number 96 ─▶ magazine of thread 1 ─▶ magazine of thread 2 (ended) ─▶ magazine of thread 3
//                           ▲                       └─ goes to the next thread that comes
//   thread 1's table: …│96│●│…                  no entry: the list is searched, and the entry made
//
// Part of synchronized_multipool; nothing else uses it. The magazines' memory belongs to the pool; the list only grows,
// until forget. Each forget changes the number, so entries that threads keep of earlier magazines match nothing.
//
// at_hand: O(1), no atomic operation except a plain load. of_this_thread, for_each_ended: O(threads). Thread-safe,
// except forget, during which no other thread may be here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../core/abi.hpp"
#include "../../core/size_class_scheme.hpp"
#include "patient_lock.hpp"
#include "thread_life.hpp"
#include "thread_magazine.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <unsigned Classes>
class magazine_rack {
  public:
    using magazine = thread_magazine<Classes>;
    static constexpr std::size_t cache_line_bytes = 64;

    magazine_rack() noexcept = default;
    magazine_rack(const magazine_rack&) = delete;
    magazine_rack& operator=(const magazine_rack&) = delete;
    ~magazine_rack() { forget(); }

    // Returns: this thread's magazine if its table has it, else null.
    [[nodiscard]] magazine* at_hand() const noexcept {
        const std::uint64_t number = number_.load(std::memory_order_relaxed);
        const thread_table::entry& found = table_of_this_thread.of(number);
        if (found.number != number) return nullptr;
        if (found.magazine == nullptr) __builtin_unreachable();
        return static_cast<magazine*>(found.magazine);
    }

    // Returns: the magazine of this thread, whose life is `life`: an existing one, one taken over from a thread that
    // has ended, or one made in the memory that `carve(bytes, alignment)` returns. Null if `life` is null, or there is
    // no memory.
    template <class Carve>
    [[nodiscard]] magazine* of_this_thread(unsigned patience, Carve carve,
                                           thread_life* life = thread_life::of_this_thread()) noexcept {
        if (magazine* const mine = at_hand(); mine != nullptr) return mine;
        if (life == nullptr) return nullptr;
        magazine* mine = newest_.load(std::memory_order_acquire);
        while (mine != nullptr && mine->owner.load(std::memory_order_relaxed) != life) mine = mine->next;
        if (mine == nullptr) mine = take_over(*life, patience);
        if (mine == nullptr) mine = make(*life, carve(sizeof(magazine), cache_line_bytes));
        if (mine == nullptr) return nullptr;
        std::uint64_t number = number_.load(std::memory_order_relaxed);
        if (number == no_number) {
            const std::uint64_t fresh = thread_table::new_number();
            if (number_.compare_exchange_strong(number, fresh, std::memory_order_relaxed)) number = fresh;
        }
        table_of_this_thread.of(number) = {number, mine};
        return mine;
    }

    // Effects: calls `use` with each magazine of a thread that has ended, if any thread has ended since the last call.
    template <class Use>
    void for_each_ended(unsigned patience, Use use) noexcept {
        const std::uint64_t ended = thread_life::ended_so_far();
        if (ended == ended_seen_.load(std::memory_order_relaxed) || !owners_lock_.lock(patience)) return;
        ended_seen_.store(ended, std::memory_order_relaxed);
        for (magazine* left = newest_.load(std::memory_order_acquire); left != nullptr; left = left->next) {
            if (left->owner.load(std::memory_order_relaxed)->has_ended()) use(*left);
        }
        owners_lock_.unlock();
    }

    // Effects: forgets all magazines. Their memory must still exist.
    void forget() noexcept {
        owners_lock_.break_open();
        for (magazine* gone = newest_.load(std::memory_order_acquire); gone != nullptr; gone = gone->next)
            gone->owner.load(std::memory_order_relaxed)->drop();
        newest_.store(nullptr, std::memory_order_relaxed);
        number_.store(no_number, std::memory_order_relaxed);
    }

  private:
    static constexpr std::uint64_t no_number = 1;  // matches no entry of a thread's table

    [[nodiscard]] magazine* take_over(thread_life& life, unsigned patience) noexcept {
        if (!owners_lock_.lock(patience)) return nullptr;
        magazine* left = newest_.load(std::memory_order_acquire);
        while (left != nullptr && !left->owner.load(std::memory_order_relaxed)->has_ended()) left = left->next;
        if (left != nullptr) {
            life.keep();
            left->owner.exchange(&life, std::memory_order_relaxed)->drop();
        }
        owners_lock_.unlock();
        return left;
    }

    [[nodiscard]] magazine* make(thread_life& life, void* place) noexcept {
        if (place == nullptr) return nullptr;
        life.keep();
        auto* const made = ::new (place) magazine(&life);
        made->next = newest_.load(std::memory_order_relaxed);
        while (!newest_.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
        }
        return made;
    }

    // Every call reads it, so it lies apart from members that change.
    std::atomic<std::uint64_t> number_{no_number};
    std::atomic<magazine*> newest_{nullptr};
    alignas(cache_line_bytes) patient_lock owners_lock_;  // for changes of owner, and for emptying magazines
    std::atomic<std::uint64_t> ended_seen_{0};
};

}  // namespace millpond::inline MILLPOND_ABI::detail
