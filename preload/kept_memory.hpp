// SPDX-License-Identifier: BSL-1.0
// kept_memory: decides how much of a pool's empty memory the pool keeps, and when the rest goes back to the system.
//
//   stays      a quarter of the memory in use, at least 1 MiB, and memory that was needed again after its return, so
//              that work in rounds does not fault its memory in each time
//   teardown   a quarter of the peak in use, at least 1 MiB, was emptied and nothing was taken meanwhile:
//              the rest is returned, some at a time
//   epoch      memory unused for 1 s is returned, and the amount kept falls by half of it
//
// So a program whose sizes change keeps the memory that it is about to reuse, a program that is done gives it back at
// once, and nothing waits for a thread of ours. Epochs are checked when memory is emptied. Only arithmetic, O(1).
// Serialised by the pool's lock, except note_taking, which any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::preload {

class kept_memory {
  public:
    struct amounts {
        std::size_t in_use, empty;
    };
    // The bytes that may stay empty, and the number of pieces to return now.
    struct order {
        std::size_t kept;
        unsigned pieces;
    };

    static constexpr std::size_t least = std::size_t{1} << 20;
    static constexpr std::uint64_t epoch_ms = 1000;
    static constexpr unsigned pieces_at_once = 4;

    // Notes that a request reached the pool. It reads first, so that a line shared by all threads is rarely written.
    void note_taking() noexcept {
        if (!__atomic_load_n(&is_taking_, __ATOMIC_RELAXED)) __atomic_store_n(&is_taking_, true, __ATOMIC_RELAXED);
    }
    // Notes that memory was taken, and how much is left.
    void note_taken(amounts now) noexcept {
        if (now.empty < least_empty_) least_empty_ = now.empty;
        if (now.in_use > most_in_use_) most_in_use_ = now.in_use;
    }
    // Notes that the system gave memory, because no empty memory was suitable.
    void note_growth(std::size_t bytes) noexcept {
        const std::size_t again = returned_ < bytes ? returned_ : bytes;
        returned_ -= again;
        kept_ += again;
    }
    void note_returned(std::size_t bytes) noexcept { returned_ += bytes; }

    // Notes that memory was emptied, which `now` includes. Returns: the empty memory to return.
    [[nodiscard]] order note_emptied(std::size_t bytes, amounts now, std::uint64_t now_ms) noexcept {
        if (__atomic_load_n(&is_taking_, __ATOMIC_RELAXED)) {
            __atomic_store_n(&is_taking_, false, __ATOMIC_RELAXED);
            emptied_at_once_ = 0;
        }
        emptied_at_once_ += bytes;
        if (now.empty > kept(now) && now_ms - epoch_start_ms_ >= epoch_ms) return end_epoch(now, now_ms);
        const bool is_teardown = emptied_at_once_ >= least && emptied_at_once_ >= most_in_use_ / 4;
        return {kept(now), is_teardown ? pieces_at_once : 0};
    }

  private:
    [[nodiscard]] std::size_t kept(amounts now) const noexcept {
        return now.in_use / 4 > kept_ ? now.in_use / 4 : kept_;
    }

    order end_epoch(amounts now, std::uint64_t now_ms) noexcept {
        const std::size_t unused = least_empty_ < now.empty ? least_empty_ : now.empty;
        kept_ = kept_ > unused / 2 + least ? kept_ - unused / 2 : least;
        const std::size_t used = now.empty - unused;
        least_empty_ = now.empty;
        most_in_use_ = now.in_use;
        epoch_start_ms_ = now_ms;
        return {used > kept(now) ? used : kept(now), ~0U};
    }

    std::size_t kept_ = least;                       // if a quarter of the memory in use is less
    std::size_t returned_ = 0;                       // and not requested again
    std::size_t emptied_at_once_ = 0;                // since memory was last taken
    std::size_t least_empty_ = 0, most_in_use_ = 0;  // in this epoch
    std::uint64_t epoch_start_ms_ = 0;
    bool is_taking_ = false;  // true if memory was taken since some was emptied
};

}  // namespace millpond::preload
