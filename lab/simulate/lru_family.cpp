// SPDX-License-Identifier: BSL-1.0
// The pass over a batch, for each instruction set.
#include "lab/simulate/lru_family.hpp"

#include "lab/simulate/lanes.hpp"

namespace millpond::simulate {

lru_family::lru_family(const host& system, line_walk lines, uint64_t sets_min, uint64_t sets_max, unsigned ways,
                       instruction_set instructions)
    : lines_(lines),
      instructions_(instructions),
      ways_(ways),
      rows_((ways + lane_count - 1) / lane_count),
      tags_(system),
      at_depth_(system),
      level_{} {
    const unsigned places = rows_ * lane_count;
    for (uint64_t sets = sets_min; sets <= sets_max; sets *= 2) level_[levels_++].mask = sets - 1;
    tags_.grow((2 * sets_max - sets_min) * places);
    at_depth_.grow(size_t{levels_} * (places + 1));
    uint64_t* next = tags_.data();
    for (unsigned i = 0; i < levels_; ++i) {
        level_[i].tags = next;
        level_[i].at_depth = at_depth_.data() + size_t{i} * (places + 1);
        next += (level_[i].mask + 1) * places;
    }
    flush();
}

template <class Lanes>
[[gnu::always_inline]] inline unsigned lru_family::touch_set(uint64_t* tags, uint64_t line) {
    uint64_t inserted = tags[lane_count - 1];
    const unsigned early = portable_lanes::move_to_front(tags, line, line);
    if (early < lane_count) return early;
    for (unsigned row = 1; row < rows_; ++row) {
        tags += lane_count;
        const uint64_t pushed_out = tags[lane_count - 1];
        const unsigned depth = Lanes::move_to_front(tags, line, inserted);
        if (depth < lane_count) return row * lane_count + depth;
        inserted = pushed_out;
    }
    return rows_ * lane_count;
}

template <class Lanes>
[[gnu::always_inline]] inline void lru_family::touch(uint64_t line) {
    const size_t places = size_t{rows_} * lane_count;
    for (unsigned i = 0; i < levels_; ++i) {
        set_count& at = level_[i];
        uint64_t* const tags = at.tags + (line & at.mask) * places;
        if (tags[0] == line) {
            ++at.in_front;
            return;
        }
        ++at.at_depth[touch_set<Lanes>(tags, line)];
    }
}

// The deepest of a reference's lines decides, in each set count by itself.
template <class Lanes>
[[gnu::always_inline]] inline void lru_family::touch_several(const reference& r) {
    const size_t places = size_t{rows_} * lane_count;
    unsigned deepest[set_counts_max] = {};
    const uint64_t last = lines_.last(r);
    for (uint64_t line = lines_.first(r);; ++line) {
        for (unsigned i = 0; i < levels_; ++i) {
            uint64_t* const tags = level_[i].tags + (line & level_[i].mask) * places;
            if (tags[0] == line) break;
            const unsigned depth = touch_set<Lanes>(tags, line);
            if (depth > deepest[i]) deepest[i] = depth;
        }
        if (lines_.rule() == straddling::twice || line == last) {
            for (unsigned i = 0; i < levels_; ++i) {
                ++level_[i].at_depth[deepest[i]];
                deepest[i] = 0;
            }
            ++references_;
        }
        if (line == last) break;
    }
}

template <class Lanes>
[[gnu::always_inline]] inline void lru_family::pass(const reference* batch, size_t count) {
    const line_walk lines = lines_;
    const size_t places = size_t{rows_} * lane_count;
    const uint64_t* const coarsest = level_[0].tags;
    const uint64_t mask = level_[0].mask;
    uint64_t in_one_line = 0, in_front = 0;
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        if (__builtin_expect(!lines.is_within_one(r), 0)) {
            touch_several<Lanes>(r);
            continue;
        }
        ++in_one_line;
        const uint64_t line = lines.first(r);
        if (coarsest[(line & mask) * places] == line)
            ++in_front;
        else
            touch<Lanes>(line);
    }
    references_ += in_one_line;
    level_[0].in_front += in_front;
}

#if defined(__x86_64__)
MILLPOND_AVX2 void lru_family::pass_avx2(const reference* batch, size_t count) { pass<avx2_lanes>(batch, count); }
MILLPOND_AVX512 void lru_family::pass_avx512(const reference* batch, size_t count) { pass<avx512_lanes>(batch, count); }
#endif

void lru_family::take(const reference* batch, size_t count) { MILLPOND_DISPATCH(instructions_, pass, batch, count); }

void lru_family::flush() { fill(tags_.data(), tags_.size(), no_line); }

uint64_t lru_family::misses(unsigned level, unsigned ways) const {
    uint64_t hits = 0;
    for (unsigned i = 0; i <= level; ++i) hits += level_[i].in_front;
    for (unsigned depth = 0; depth < ways; ++depth) hits += level_[level].at_depth[depth];
    return references_ - hits;
}

void lru_family::tell(const report& to) const {
    to(count_of("references", "references", references_));
    for (unsigned i = 0; i < levels_; ++i) {
        for (unsigned ways = 1; ways <= ways_; ++ways) {
            count_row row = count_of("misses", "references", misses(i, ways));
            row.sets = sets(i);
            row.ways = ways;
            row.line_bytes = lines_.line_bytes();
            row.cache_bytes = row.sets * ways * row.line_bytes;
            to(row);
        }
    }
}

}  // namespace millpond::simulate
