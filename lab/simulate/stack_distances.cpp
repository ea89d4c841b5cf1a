// SPDX-License-Identifier: BSL-1.0
// Passes a batch through the stack, for each instruction set.
#include "lab/simulate/stack_distances.hpp"

namespace millpond::simulate {

stack_distances::stack_distances(const host& system, line_walk blocks, instruction_set instructions)
    : blocks_(blocks), instructions_(instructions), stack_(system), at_distance_(system, 64) {}

inline void stack_distances::add(uint64_t distance) {
    if (__builtin_expect(distance < at_distance_.size(), 1)) {
        ++at_distance_[distance];
    } else if (distance == lru_stack::cold) {
        ++cold_;
    } else if (distance == lru_stack::flushed) {
        ++flushed_;
    } else {
        at_distance_.reach(distance);
        ++at_distance_[distance];
    }
}

template <class Lanes>
[[gnu::always_inline]] inline void stack_distances::touch_several(const reference& r) {
    uint64_t farthest = 0;
    const uint64_t last = blocks_.last(r);
    for (uint64_t block = blocks_.first(r);; ++block) {
        const uint64_t distance = stack_.touch<Lanes>(block);
        if (distance > farthest) farthest = distance;
        if (blocks_.rule() == straddling::twice || block == last) {
            add(farthest);
            farthest = 0;
            ++references_;
        }
        if (block == last) break;
    }
}

// A reference to the same block as the one before has distance 0. The others go into a list, so that no branch depends
// on them.
template <class Lanes>
[[gnu::always_inline]] inline void stack_distances::pass(const reference* batch, size_t count) {
    const line_walk blocks = blocks_;
    uint64_t list[listed_max];
    uint64_t latest = no_line;
    size_t size = 0, listed = 0, several = 0;
    const auto touch_list = [&]() __attribute__((always_inline)) {
        stack_.touch_all<Lanes>(list, size, [this](uint64_t distance) { add(distance); });
        listed += size;
        size = 0;
    };
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        if (__builtin_expect(!blocks.is_within_one(r), 0)) {
            touch_list();
            touch_several<Lanes>(r);
            latest = blocks.last(r);
            ++several;
            continue;
        }
        const uint64_t block = blocks.first(r);
        list[size] = block;
        size += block != latest;
        latest = block;
        if (__builtin_expect(size == listed_max, 0)) touch_list();
    }
    touch_list();
    references_ += count - several;
    at_distance_[0] += count - several - listed;
}

#if defined(__x86_64__)
MILLPOND_AVX2 void stack_distances::pass_avx2(const reference* batch, size_t count) { pass<avx2_lanes>(batch, count); }
MILLPOND_AVX512 void stack_distances::pass_avx512(const reference* batch, size_t count) {
    pass<avx512_lanes>(batch, count);
}
#endif

void stack_distances::take(const reference* batch, size_t count) {
    MILLPOND_DISPATCH(instructions_, pass, batch, count);
}

uint64_t stack_distances::misses(uint64_t blocks) const {
    uint64_t hits = 0;
    for (uint64_t distance = 0; distance < blocks && distance < at_distance_.size(); ++distance)
        hits += at_distance_[distance];
    return references_ - hits;
}

void stack_distances::tell(const report& to) const {
    const auto row = [&](const char* metric, const char* unit, uint64_t value, uint64_t distance = 0) {
        count_row one = count_of(metric, unit, value);
        one.line_bytes = blocks_.line_bytes();
        one.distance = distance;
        to(one);
    };
    row("references", "references", references_);
    row("cold", "references", cold_);
    row("flushed", "references", flushed_);
    row("distinct", "blocks", distinct());
    row("memory", "bytes", bytes());
    for (uint64_t distance = 0; distance < at_distance_.size(); ++distance) {
        if (at_distance_[distance] != 0) row("at_distance", "references", at_distance_[distance], distance);
    }
}

}  // namespace millpond::simulate
