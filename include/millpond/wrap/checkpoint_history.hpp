// SPDX-License-Identifier: BSL-1.0
// checkpoint_history: which checkpoints of a checked allocator can still be rewound to.
//
//   checkpoints   3 ── 7 ── 12 ── 20      a place is the number of the last block before it
//   rewind to 7   3 ── 7                  12 and 20 are gone for good
//   reset         (none)
//
// A checkpoint is taken at most once between two blocks, so there are never more places than blocks since the oldest.
// mark: O(1) amortised. rewind_to: O(log places). Not thread-safe. Where malloc has nothing, every place counts as
// valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace millpond {

class checkpoint_history {
  public:
    checkpoint_history() = default;
    checkpoint_history(const checkpoint_history&) = delete;
    checkpoint_history& operator=(const checkpoint_history&) = delete;
    ~checkpoint_history() { std::free(places_); }

    // Returns: the place for a new checkpoint, when `blocks` have been allocated in all.
    [[nodiscard]] std::uint64_t mark(std::uint64_t blocks) noexcept {
        if (size_ > 0 && blocks == blocks_at_top_) return places_[size_ - 1];
        if (size_ == capacity_ && !grow()) {
            is_complete_ = false;
            return blocks;
        }
        places_[size_++] = blocks;
        blocks_at_top_ = blocks;
        return blocks;
    }

    // Effects: the place is the newest again. Returns: false, and nothing has changed, if it is no longer there.
    [[nodiscard]] bool rewind_to(std::uint64_t place, std::uint64_t blocks) noexcept {
        std::uint64_t* const found = std::lower_bound(places_, places_ + size_, place);
        if (found == places_ + size_ || *found != place) return !is_complete_;
        size_ = static_cast<std::size_t>(found - places_) + 1;
        blocks_at_top_ = blocks;
        return true;
    }

    // Effects: no place is valid any more.
    void clear() noexcept {
        size_ = 0;
        is_complete_ = true;
    }

  private:
    [[nodiscard]] bool grow() noexcept {
        const std::size_t capacity = capacity_ == 0 ? 16 : 2 * capacity_;
        void* const more = std::realloc(places_, capacity * sizeof(std::uint64_t));
        if (more == nullptr) return false;
        places_ = static_cast<std::uint64_t*>(more);
        capacity_ = capacity;
        return true;
    }

    std::uint64_t* places_ = nullptr;  // in ascending order
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::uint64_t blocks_at_top_ = 0;  // allocated in all when the newest place was marked or rewound to
    bool is_complete_ = true;
};

}  // namespace millpond
