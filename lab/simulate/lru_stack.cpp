// SPDX-License-Identifier: BSL-1.0
// What lies behind the front: marks in order of time.
#include "lab/simulate/lru_stack.hpp"

namespace millpond::simulate {
namespace {

// In a few vector steps for eight words; the processor's own instruction is not there on every machine.
inline uint64_t ones(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    return ((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56;
}

}  // namespace

lru_stack::lru_stack(const host& system)
    : system_(&system),
      front_(system, front_size),
      blocks_(system),
      bits_(system, times_min / 64),
      sums_(system, (times_min >> group_bits) + 1),
      named_(system, times_min) {
    fill(front_.data(), front_size, no_line);
}

[[gnu::noinline]] uint64_t lru_stack::touch_behind(uint64_t block, uint64_t pushed_out) {
    const uint64_t known = blocks_.size();
    uint32_t& time = blocks_[block];
    uint64_t distance = cold;
    if (blocks_.size() == known) {
        distance = flushed;
        if (time > flushed_until_) {
            distance = front_size + later_than(time);
            unmark(time);
        }
        time = 0;
    }
    if (pushed_out != no_line) mark(pushed_out);
    return distance;
}

// The rest of the group is counted bit by bit, the groups behind it by their sums.
uint64_t lru_stack::later_than(uint32_t time) const {
    constexpr uint32_t words_in_group = (1u << group_bits) / 64;
    uint32_t word = time / 64;
    const uint32_t above = time % 64;
    uint64_t later = ones(bits_[word] >> above >> 1);
    for (++word; word % words_in_group != 0; ++word) later += ones(bits_[word]);
    uint32_t up_to_group = 0;
    for (uint32_t i = (time >> group_bits) + 1; i != 0; i &= i - 1) up_to_group += sums_[i];
    return later + live_ - up_to_group;
}

void lru_stack::add(uint32_t time, uint32_t change) {
    for (uint32_t i = (time >> group_bits) + 1; i < sums_.size(); i += i & (0 - i)) sums_[i] += change;
}

void lru_stack::unmark(uint32_t time) {
    bits_[time / 64] &= ~(uint64_t{1} << time % 64);
    add(time, 0u - 1);
    --live_;
}

void lru_stack::mark(uint64_t block) {
    if (now_ == named_.size()) compact();
    const uint32_t time = now_++;
    bits_[time / 64] |= uint64_t{1} << time % 64;
    add(time, 1);
    ++live_;
    named_[time] = block;
    blocks_[block] = time;
}

// Numbers the marks again from one. Half of the times are then free at least, so a mark pays for O(1) of it.
void lru_stack::compact() {
    if (flushed_until_ != 0) {
        blocks_.for_each([this](uint64_t, uint32_t& time) {
            if (time <= flushed_until_) time = 0;
        });
        flushed_until_ = 0;
    }
    uint32_t last = 0;
    for (uint32_t word = 0; word < bits_.size(); ++word) {
        for (uint64_t left = bits_[word]; left != 0; left &= left - 1) {
            const uint64_t block = named_[word * 64 + static_cast<uint32_t>(__builtin_ctzll(left))];
            named_[++last] = block;
            blocks_[block] = last;
        }
    }
    const size_t times = 2 * size_t{last} >= named_.size() ? 2 * named_.size() : named_.size();
    if (times >> 32 != 0) system_->fail("a program that touches more than 2^31 lines is beyond exact stack distances");
    named_.grow(times);
    bits_.grow(times / 64);
    sums_.grow((times >> group_bits) + 1);
    fill(bits_.data(), bits_.size(), uint64_t{0});
    fill(sums_.data(), sums_.size(), uint32_t{0});
    for (uint32_t time = 1; time <= last; ++time) {
        bits_[time / 64] |= uint64_t{1} << time % 64;
        ++sums_[(time >> group_bits) + 1];
    }
    for (uint32_t i = 1; i < sums_.size(); ++i) {
        const uint32_t above = i + (i & (0 - i));
        if (above < sums_.size()) sums_[above] += sums_[i];
    }
    now_ = last + 1;
    live_ = last;
}

void lru_stack::flush() {
    fill(front_.data(), front_size, no_line);
    fill(bits_.data(), bits_.size(), uint64_t{0});
    fill(sums_.data(), sums_.size(), uint32_t{0});
    live_ = 0;
    flushed_until_ = now_ - 1;
}

}  // namespace millpond::simulate
