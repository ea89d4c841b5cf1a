// SPDX-License-Identifier: BSL-1.0
// Passes a list of lines through the caches, for each instruction set.
#include "lab/simulate/lru_family.hpp"

#include "lab/simulate/lanes.hpp"

namespace millpond::simulate {

lru_family::lru_family(const host& system, touched_lines& lines, uint64_t sets_min, uint64_t sets_max, unsigned ways,
                       instruction_set instructions)
    : instructions_(instructions),
      line_bytes_(lines.walk().line_bytes()),
      ways_(ways),
      rows_((ways - 1 + lane_count - 1) / lane_count),
      fronts_(system),
      behind_(system),
      at_depth_(system),
      left_(system, lines.room()),
      pushed_out_(system, lines.room()),
      level_{} {
    const unsigned places = rows_ * lane_count;
    for (uint64_t sets = sets_min; sets <= sets_max; sets *= 2) level_[levels_++].mask = sets - 1;
    fronts_.grow(2 * sets_max - sets_min);
    behind_.grow((2 * sets_max - sets_min) * places);
    at_depth_.grow(size_t{levels_} * (places + 2));
    uint64_t *front = fronts_.data(), *row = behind_.data();
    for (unsigned i = 0; i < levels_; ++i) {
        level_[i].fronts = front;
        level_[i].rows = row;
        level_[i].at_depth = at_depth_.data() + size_t{i} * (places + 2);
        front += level_[i].mask + 1;
        row += (level_[i].mask + 1) * places;
    }
    lines.add_user(sets_min);
    flush();
}

// Drops the lines that end at the fronts. Returns the number of lines left; they and the lines they pushed out are in
// the two lists. `lines` may be left_ itself.
size_t lru_family::drop_fronts(const set_count& at, const uint64_t* lines, size_t count) {
    const uint64_t mask = at.mask;
    uint64_t *const fronts = at.fronts, *const left = left_.data(), *const pushed_out = pushed_out_.data();
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t line = lines[i];
        if (__builtin_expect((line & touched_lines::joined) != 0, 0)) {
            const size_t first = size;
            bool goes_on = false;
            for (;; ++i) {
                const uint64_t word = lines[i];
                line = word & ~touched_lines::joined;
                uint64_t& front = fronts[line & mask];
                goes_on |= front != line;
                left[size] = word;
                pushed_out[size++] = front;
                front = line;
                if (word == line) break;
            }
            if (!goes_on) size = first;
            continue;
        }
        uint64_t& front = fronts[line & mask];
        const uint64_t before = front;
        front = line;
        left[size] = line;
        pushed_out[size] = before;
        size += before != line;
    }
    return size;
}

// Returns the depth of a line that was not in front.
template <class Lanes>
[[gnu::always_inline]] inline unsigned lru_family::depth_in(uint64_t* row, uint64_t line, uint64_t pushed_out) {
    for (unsigned i = 0; i < rows_; ++i, row += lane_count) {
        const uint64_t last = row[lane_count - 1];
        const unsigned depth = Lanes::move_to_front(row, line, pushed_out);
        if (rows_ == 1 || depth < lane_count) return i * lane_count + depth + 1;
        pushed_out = last;
    }
    return rows_ * lane_count + 1;
}

// Counts a reference at the deepest of its lines.
template <class Lanes>
[[gnu::always_inline]] inline void lru_family::search_rows(const set_count& at, size_t count) {
    const size_t places = size_t{rows_} * lane_count;
    const uint64_t *const left = left_.data(), *const pushed_out = pushed_out_.data();
    for (size_t i = 0; i < count; ++i) {
        uint64_t line = left[i];
        if (__builtin_expect((line & touched_lines::joined) != 0, 0)) {
            unsigned deepest = 0;
            for (;; ++i) {
                line = left[i] & ~touched_lines::joined;
                if (pushed_out[i] != line) {
                    const unsigned depth = depth_in<Lanes>(at.rows + (line & at.mask) * places, line, pushed_out[i]);
                    if (depth > deepest) deepest = depth;
                }
                if (left[i] == line) break;
            }
            ++at.at_depth[deepest];
            continue;
        }
        ++at.at_depth[depth_in<Lanes>(at.rows + (line & at.mask) * places, line, pushed_out[i])];
    }
}

template <class Lanes>
[[gnu::always_inline]] inline void lru_family::pass(const touched_lines& from) {
    references_ += from.references();
    const uint64_t* lines = from.data();
    size_t count = from.size();
    for (unsigned i = 0; i < levels_ && count != 0; ++i) {
        count = drop_fronts(level_[i], lines, count);
        search_rows<Lanes>(level_[i], count);
        lines = left_.data();
    }
}

#if defined(__x86_64__)
MILLPOND_AVX2 void lru_family::pass_avx2(const touched_lines& lines) { pass<avx2_lanes>(lines); }
MILLPOND_AVX512 void lru_family::pass_avx512(const touched_lines& lines) { pass<avx512_lanes>(lines); }
#endif

void lru_family::take(const touched_lines& lines) { MILLPOND_DISPATCH(instructions_, pass, lines); }

void lru_family::flush() {
    fill(fronts_.data(), fronts_.size(), no_line);
    fill(behind_.data(), behind_.size(), no_line);
}

uint64_t lru_family::misses(unsigned level, unsigned ways) const {
    uint64_t misses = 0;
    for (unsigned depth = ways; depth < rows_ * lane_count + 2; ++depth) misses += level_[level].at_depth[depth];
    return misses;
}

void lru_family::tell(const report& to) const {
    to(count_of("references", "references", references_));
    for (unsigned i = 0; i < levels_; ++i) {
        for (unsigned ways = 1; ways <= ways_; ++ways) {
            count_row row = count_of("misses", "references", misses(i, ways));
            row.sets = level_[i].mask + 1;
            row.ways = ways;
            row.line_bytes = line_bytes_;
            row.cache_bytes = row.sets * ways * row.line_bytes;
            to(row);
        }
    }
}

}  // namespace millpond::simulate
