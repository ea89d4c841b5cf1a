// SPDX-License-Identifier: BSL-1.0
// The pass over a batch: one comparison where the smallest cache hits.
#include "lab/simulate/direct_mapped.hpp"

namespace millpond::simulate {

direct_mapped_bank::direct_mapped_bank(const host& system, line_walk lines, const uint64_t* cache_bytes, size_t caches)
    : lines_(lines), tags_(system), size_(caches) {
    uint64_t all = 0;
    for (size_t i = 0; i < caches; ++i) all += cache_bytes[i] / lines.line_bytes();
    tags_.grow(all);
    uint64_t* next = tags_.data();
    for (size_t i = 0; i < caches; ++i) {
        const uint64_t sets = cache_bytes[i] / lines.line_bytes();
        caches_[i] = {set_index(sets), next, 0, true};
        next += sets;
        for (size_t later = i + 1; later < caches; ++later)
            caches_[i].later_have_it &= cache_bytes[later] / lines.line_bytes() % sets == 0;
    }
    flush();
}

inline uint32_t direct_mapped_bank::touch(uint64_t line) {
    uint32_t missed = 0;
    for (size_t i = 0; i < size_; ++i) {
        uint64_t& tag = caches_[i].tags[caches_[i].index(line)];
        if (tag != line) {
            tag = line;
            missed |= 1u << i;
        } else if (caches_[i].later_have_it) {
            break;
        }
    }
    return missed;
}

inline void direct_mapped_bank::add(uint32_t missed) {
    for (; missed != 0; missed &= missed - 1) ++caches_[__builtin_ctz(missed)].misses;
}

void direct_mapped_bank::touch_several(const reference& r) {
    uint32_t missed = 0;
    const uint64_t last = lines_.last(r);
    for (uint64_t line = lines_.first(r);; ++line) {
        missed |= touch(line);
        if (lines_.rule() == straddling::twice || line == last) {
            add(missed);
            missed = 0;
            ++references_;
        }
        if (line == last) break;
    }
}

void direct_mapped_bank::take(const reference* batch, size_t count) {
    const line_walk lines = lines_;
    const one_cache smallest = caches_[0];
    uint64_t in_one_line = 0;
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        if (__builtin_expect(!lines.is_within_one(r), 0)) {
            touch_several(r);
            continue;
        }
        ++in_one_line;
        const uint64_t line = lines.first(r);
        if (smallest.later_have_it && smallest.tags[smallest.index(line)] == line) continue;
        add(touch(line));
    }
    references_ += in_one_line;
}

void direct_mapped_bank::flush() { fill(tags_.data(), tags_.size(), no_line); }

void direct_mapped_bank::tell(const report& to) const {
    to(count_of("references", "references", references_));
    for (size_t i = 0; i < size_; ++i) {
        count_row row = count_of("misses", "references", caches_[i].misses);
        row.sets = caches_[i].index.sets();
        row.ways = 1;
        row.line_bytes = lines_.line_bytes();
        row.cache_bytes = row.sets * row.line_bytes;
        to(row);
    }
}

}  // namespace millpond::simulate
