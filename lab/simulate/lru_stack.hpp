// SPDX-License-Identifier: BSL-1.0
// lru_stack: the exact stack distance of each use of a block (line or page): the number of other blocks used since its
// last use.
//
//   block ──▶ table ──▶ time of its last use        one bit for each block, at that time
//
//   …·1··11·1·│1··1·11·1·│·1·1···1·1│1·1··1▶ now    the bits behind a time are the blocks used since
//                         before     latest         the last two words stay in registers; the others are summed
//                                                   (Fenwick 1994)
//
// A cache of C blocks with least-recently-used replacement hits exactly where the distance is below C (Mattson et al.
// 1970), so one pass gives the whole curve. Most uses come less than 64 uses after the last one: they cost a look-up
// among 512 recent blocks and a count of two words, without a branch. The others cost O(log distinct). When the times
// are used up, they are numbered again (compaction). Memory depends only on the number of distinct blocks: at most
// `bytes_per_block_max` for each, and half as much again while a table grows. Not thread-safe.
#pragma once

#include "lab/simulate/block_table.hpp"
#include "lab/simulate/lanes.hpp"
#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

class lru_stack {
  public:
    // Distances larger than any cache.
    static constexpr uint64_t cold = ~uint64_t{0};         // the first use ever
    static constexpr uint64_t flushed = ~uint64_t{0} - 1;  // the first use since a flush
    // The table of blocks 4 x 16, times 32 x (8 + 4) / 64.
    static constexpr size_t bytes_per_block_max = 70;

    explicit lru_stack(const host& system);

    // Touches blocks one after the other; calls `add` with each one's distance.
    template <class Lanes, class Add>
    [[gnu::always_inline]] inline void touch_all(const uint64_t* blocks, size_t count, const Add& add) {
        uint64_t latest = latest_, before = before_;
        uint32_t now = now_;
        for (size_t i = 0; i < count; ++i) {
            const uint64_t block = blocks[i];
            recent& known = recent_[(block ^ block >> 10) % recent_size];
            if (__builtin_expect(known.block != block, 0)) find(known, block);
            const uint32_t last = *known.time;
            *known.time = now;
            const uint32_t place = last - (now & ~63u) + 64;  // in `before`, then `latest`
            uint64_t distance = 0;
            if (__builtin_expect(place < 128, 1)) {
                const uint64_t bit = uint64_t{1} << place % 64;
                const uint64_t in_latest = 0 - uint64_t{place / 64};  // a mask: no branch
                const uint64_t word = (latest & in_latest) | (before & ~in_latest);
                distance = Lanes::ones(word & (0 - 2 * bit)) + Lanes::ones(latest & ~in_latest);
                latest &= ~(bit & in_latest);
                before &= ~(bit & ~in_latest);
            } else {
                distance = touch_earlier(last, Lanes::ones(latest) + Lanes::ones(before));
            }
            latest |= uint64_t{1} << now % 64;
            add(distance);
            if (__builtin_expect(++now % 64 == 0, 0)) {
                now_ = now;
                latest_ = latest;
                before_ = before;
                end_word();
                now = now_;
                latest = 0;
                before = before_;
            }
        }
        now_ = now;
        latest_ = latest;
        before_ = before;
    }

    template <class Lanes>
    [[gnu::always_inline]] inline uint64_t touch(uint64_t block) {
        uint64_t of_block = 0;
        touch_all<Lanes>(&block, 1, [&](uint64_t distance) __attribute__((always_inline)) { of_block = distance; });
        return of_block;
    }

    // Empties the stack; blocks that were seen stay known.
    void flush();

    uint64_t distinct() const { return blocks_.size(); }
    size_t bytes() const { return blocks_.bytes() + recent_.bytes() + bits_.bytes() + sums_.bytes(); }

  private:
    static constexpr uint32_t times_min = 1u << 15, times_max = 1u << 31;
    // The smallest time of a block, so that time 0 lies before the last two words.
    static constexpr uint32_t first_time = 64;

    static constexpr unsigned recent_size = 512;
    struct recent {
        uint64_t block;
        uint32_t* time;  // in the table
    };
    void find(recent& place, uint64_t block);

    uint32_t times() const { return static_cast<uint32_t>(bits_.size() * 64); }
    // Touches a block whose last use lies before the last two words, which have `later` bits.
    uint64_t touch_earlier(uint32_t last, uint64_t later);
    void end_word();
    void store_word(uint32_t word, uint64_t bits);
    uint32_t up_to(uint32_t time) const;
    void add(uint32_t word, uint32_t change);
    void compact();
    void begin_words(uint32_t used);

    const host* system_;
    block_table<uint32_t> blocks_;  // the time of the last use; 0: flushed
    array<recent> recent_;          // by a hash of the block
    array<uint64_t> bits_;          // by time, without the last two words
    array<uint32_t> sums_;          // of the words of bits_
    uint64_t known_ = 0;            // blocks
    uint64_t latest_ = 0, before_ = 0;
    uint32_t now_ = 0, live_ = 0;  // live: the number of bits in bits_
    uint32_t flushed_until_ = 0;   // times up to this one are before the last flush
};

}  // namespace millpond::simulate
