// SPDX-License-Identifier: BSL-1.0
// Handles the times before the last two words.
#include "lab/simulate/lru_stack.hpp"

namespace millpond::simulate {
namespace {

constexpr auto ones = portable_lanes::ones;

}  // namespace

lru_stack::lru_stack(const host& system)
    : system_(&system),
      blocks_(system),
      recent_(system, recent_size),
      bits_(system, times_min / 64),
      sums_(system, times_min / 64 + 1) {
    fill(recent_.data(), recent_size, recent{no_line, nullptr});
    begin_words(first_time);
}

// Looks a block up in the table: after growth its time lies elsewhere.
[[gnu::noinline]] void lru_stack::find(recent& place, uint64_t block) {
    const size_t bytes = blocks_.bytes();
    uint32_t& time = blocks_[block];
    if (blocks_.bytes() != bytes) fill(recent_.data(), recent_size, recent{no_line, nullptr});
    place = {block, &time};
}

// Begins two empty words for the times from `used` on.
void lru_stack::begin_words(uint32_t used) {
    now_ = (used + 63) / 64 * 64 + 64;
    latest_ = before_ = 0;
}

[[gnu::noinline]] uint64_t lru_stack::touch_earlier(uint32_t last, uint64_t later) {
    if (blocks_.size() != known_) {
        known_ = blocks_.size();
        return cold;
    }
    if (last <= flushed_until_) return flushed;
    const uint64_t distance = later + live_ - up_to(last);
    bits_[last / 64] &= ~(uint64_t{1} << last % 64);
    add(last / 64, 0u - 1);
    --live_;
    return distance;
}

// Returns the number of bits at this time or earlier.
uint32_t lru_stack::up_to(uint32_t time) const {
    auto count = static_cast<uint32_t>(ones(bits_[time / 64] & (~uint64_t{0} >> (63 - time % 64))));
    for (uint32_t i = time / 64; i != 0; i &= i - 1) count += sums_[i];
    return count;
}

void lru_stack::add(uint32_t word, uint32_t change) {
    for (uint32_t i = word + 1; i < sums_.size(); i += i & (0 - i)) sums_[i] += change;
}

void lru_stack::store_word(uint32_t word, uint64_t bits) {
    if (bits == 0) return;
    const auto count = static_cast<uint32_t>(ones(bits));
    bits_[word] = bits;
    add(word, count);
    live_ += count;
}

[[gnu::noinline]] void lru_stack::end_word() {
    store_word(now_ / 64 - 2, before_);
    before_ = latest_;
    latest_ = 0;
    if (now_ == times()) {
        store_word(now_ / 64 - 1, before_);
        compact();
    }
}

// Renumbers the times of all held blocks, in their order. Afterwards at most one time in 16 is taken, so the cost per
// use is O(1).
void lru_stack::compact() {
    const uint64_t wanted = 16 * uint64_t{live_};
    if (wanted > times_max)
        system_->fail("a program that touches more than 2^27 lines is beyond exact stack distances");
    blocks_.for_each(
        [this](uint64_t, uint32_t& time) { time = time <= flushed_until_ ? 0 : first_time - 1 + up_to(time); });
    flushed_until_ = 0;
    uint64_t times = bits_.size() * 64;
    while (times < wanted) times *= 2;
    bits_.grow(times / 64);
    sums_.grow(times / 64 + 1);
    fill(bits_.data(), bits_.size(), uint64_t{0});
    fill(sums_.data(), sums_.size(), uint32_t{0});
    const uint32_t live = live_;
    live_ = 0;
    for (uint32_t left = live, word = first_time / 64; left != 0; ++word) {
        const uint32_t bits = left < 64 ? left : 64;
        store_word(word, ~uint64_t{0} >> (64 - bits));
        left -= bits;
    }
    begin_words(first_time + live);
}

void lru_stack::flush() {
    fill(bits_.data(), bits_.size(), uint64_t{0});
    fill(sums_.data(), sums_.size(), uint32_t{0});
    live_ = 0;
    flushed_until_ = now_ - 1;
    begin_words(now_);
    if (now_ >= times()) compact();
}

}  // namespace millpond::simulate
