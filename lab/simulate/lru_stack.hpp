// SPDX-License-Identifier: BSL-1.0
// lru_stack: the exact distance of each use of a block (line or page) from its last one: how many others came between.
//
//   front: the 32 latest    │ x a b … │  searched eight at a time
//   behind it, by time      ·1··11·1·1··▶ now     one bit for each block, at the time when it left the front
//                           │512│512│ …           sums of these bits (Fenwick 1994)
//
// A cache of C blocks that replaces the least recently used hits exactly where the distance is below C (Mattson et al.
// 1970), so one pass has the whole curve. When the times are used up they are numbered again from one (compaction).
// O(1) in the front, else O(log distinct). Memory depends on the distinct blocks alone, not on the references: at most
// `bytes_per_block_max` for each, and half as much again while a table grows. Not thread-safe.
#pragma once

#include "lab/simulate/block_table.hpp"
#include "lab/simulate/instruction_set.hpp"
#include "lab/simulate/lanes.hpp"
#include "lab/simulate/lines.hpp"

namespace millpond::simulate {

class lru_stack {
  public:
    // Distances that no cache's size exceeds.
    static constexpr uint64_t cold = ~uint64_t{0};         // the first use ever
    static constexpr uint64_t flushed = ~uint64_t{0} - 1;  // the first use since a flush
    // The table of blocks 4 x 16, times 4 x (8 + 1/8 + 4/512).
    static constexpr size_t bytes_per_block_max = 97;

    explicit lru_stack(const host& system);

    template <class Lanes>
    [[gnu::always_inline]] inline uint64_t touch(uint64_t block) {
        const uint64_t pushed_out = front_[lane_count - 1];
        const unsigned depth = Lanes::move_to_front(front_.data(), block, block);
        return depth < lane_count ? depth : touch_later<Lanes>(block, pushed_out);
    }

    // Touches blocks one after the other; `add` gets each one's distance.
    template <class Lanes, class Add>
    [[gnu::always_inline]] inline void touch_all(const uint64_t* blocks, size_t count, const Add& add) {
        typename Lanes::row front(front_.data());
        for (size_t i = 0; i < count; ++i) {
            const uint64_t pushed_out = front.last();
            const unsigned depth = front.move_to_front(blocks[i]);
            add(__builtin_expect(depth < lane_count, 1) ? depth : touch_later<Lanes>(blocks[i], pushed_out));
        }
        front.store(front_.data());
    }

    // No block is held any more; those that were seen stay known.
    void flush();

    uint64_t distinct() const { return blocks_.size(); }
    size_t bytes() const { return blocks_.bytes() + bits_.bytes() + sums_.bytes() + named_.bytes() + front_.bytes(); }

  private:
    static constexpr unsigned front_size = 32;
    static constexpr unsigned group_bits = 9;  // a sum for each 512 times
    static constexpr uint32_t times_min = 1u << 12;

    // What the first row of the front does not have.
    template <class Lanes>
    [[gnu::always_inline]] inline uint64_t touch_later(uint64_t block, uint64_t inserted) {
        uint64_t* row = front_.data();
        for (unsigned first = lane_count; first < front_size; first += lane_count) {
            row += lane_count;
            const uint64_t pushed_out = row[lane_count - 1];
            const unsigned depth = Lanes::move_to_front(row, block, inserted);
            if (depth < lane_count) return first + depth;
            inserted = pushed_out;
        }
        return touch_behind(block, inserted);
    }
    uint64_t touch_behind(uint64_t block, uint64_t pushed_out);
    uint64_t later_than(uint32_t time) const;
    void mark(uint64_t block);
    void unmark(uint32_t time);
    void add(uint32_t time, uint32_t change);
    void compact();

    const host* system_;
    array<uint64_t> front_;
    block_table<uint32_t> blocks_;  // the time; 0: in the front, or flushed
    array<uint64_t> bits_;
    array<uint32_t> sums_;
    array<uint64_t> named_;  // by time, the block
    uint32_t now_ = 1, live_ = 0;
    uint32_t flushed_until_ = 0;  // times up to this one are of before the last flush
};

}  // namespace millpond::simulate
