// SPDX-License-Identifier: BSL-1.0
// checkpoint_history: the checkpoints of a checked allocator that are still valid for rewind.
//
//   places        1 ── 2 ── 3 ── 4      each with the number of blocks allocated before it
//   rewind to 2   1 ── 2                3 and 4 are gone for good; the next place is 5
//   reset         (none)
//
// A place is made at most once between two blocks, so there are never more places than blocks since the oldest. mark:
// O(1) amortised. rewind_to: O(log places). Not thread-safe. If malloc has no memory, every place counts as valid.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class checkpoint_history {
  public:
    struct place {
        std::uint64_t number;
        std::uint64_t blocks;       // allocated in total by then
        std::uint64_t history = 0;  // the history that made it
    };

    checkpoint_history() = default;
    checkpoint_history(const checkpoint_history&) = delete;
    checkpoint_history& operator=(const checkpoint_history&) = delete;
    ~checkpoint_history() { std::free(places_); }

    // Returns: the place for a new checkpoint, when `blocks` have been allocated in total.
    [[nodiscard]] place mark(std::uint64_t blocks) noexcept {
        if (size_ > 0 && blocks == blocks_at_newest_) return places_[size_ - 1];
        const place here{++last_number_, blocks, identity_};
        if (size_ == capacity_ && !grow()) {
            is_complete_ = false;
            return here;
        }
        places_[size_++] = here;
        blocks_at_newest_ = blocks;
        return here;
    }

    // Effects: makes the place the newest again, now that `blocks` have been allocated in total. Returns: false if the
    // place is gone; then nothing has changed.
    [[nodiscard]] bool rewind_to(place there, std::uint64_t blocks) noexcept {
        if (there.history != identity_) return false;
        place* const end = places_ + size_;
        place* const found =
            std::lower_bound(places_, end, there, [](const place& a, const place& b) { return a.number < b.number; });
        if (found == end || found->number != there.number) return !is_complete_;
        size_ = static_cast<std::size_t>(found - places_) + 1;
        blocks_at_newest_ = blocks;
        return true;
    }

    // Effects: makes every place invalid.
    void clear() noexcept {
        size_ = 0;
        is_complete_ = true;
    }

  private:
    [[nodiscard]] bool grow() noexcept {
        const std::size_t capacity = capacity_ == 0 ? 16 : 2 * capacity_;
        void* const more = std::realloc(places_, capacity * sizeof(place));
        if (more == nullptr) return false;
        places_ = static_cast<place*>(more);
        capacity_ = capacity;
        return true;
    }

    // A number is never used again, unlike an address.
    static inline std::atomic<std::uint64_t> histories_ = 0;

    std::uint64_t identity_ = ++histories_;
    place* places_ = nullptr;  // in ascending order
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t blocks_at_newest_ = 0;  // allocated in total when the newest place was marked or rewound to
    bool is_complete_ = true;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
