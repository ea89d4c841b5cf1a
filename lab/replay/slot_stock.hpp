// SPDX-License-Identifier: BSL-1.0
// slot_stock: gives slot numbers to live objects and reuses them, so that there are as many as objects at the peak.
//
//   thread 1 │ 7 3 9 │◀─ its frees; its allocations take the last one, without waiting
//   thread 2 │ 4     │   without one, it takes another thread's oldest: freed long ago, hardly a wait
//
// In dependency order a slot's next object waits for the one before, so a slot handed between threads would couple
// them. take, give: O(1), but O(threads) if the others' slots must be searched. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "lab/program/program.hpp"

namespace millpond::replay {

class slot_stock {
  public:
    std::uint32_t take(std::uint32_t thread) {
        std::deque<std::uint32_t>& own = of(thread);
        if (!own.empty()) {
            const std::uint32_t slot = own.back();
            own.pop_back();
            --free_;
            return slot;
        }
        if (free_ > 0) return take_oldest_of_others();
        if (count_ == std::numeric_limits<std::uint32_t>::max())
            throw program::failure(program::environment, "more objects live at once than a replay can hold");
        return count_++;
    }

    void give(std::uint32_t slot, std::uint32_t thread) {
        of(thread).push_back(slot);
        ++free_;
    }

    // The number of slots, free or not.
    std::uint32_t count() const { return count_; }

  private:
    std::deque<std::uint32_t>& of(std::uint32_t thread) {
        if (thread >= freed_.size()) freed_.resize(thread + 1);
        return freed_[thread];
    }

    std::uint32_t take_oldest_of_others() {
        while (freed_[turn_ % freed_.size()].empty()) ++turn_;
        std::deque<std::uint32_t>& theirs = freed_[turn_ % freed_.size()];
        const std::uint32_t slot = theirs.front();
        theirs.pop_front();
        --free_;
        return slot;
    }

    std::vector<std::deque<std::uint32_t>> freed_;
    std::size_t turn_ = 0, free_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace millpond::replay
