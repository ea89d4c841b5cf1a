// SPDX-License-Identifier: BSL-1.0
// Passes a list of lines through the caches, one cache after the other.
#include "lab/simulate/direct_mapped_bank.hpp"

namespace millpond::simulate {

direct_mapped_bank::direct_mapped_bank(const host& system, touched_lines& lines, const uint64_t* cache_bytes,
                                       size_t caches)
    : line_bytes_(lines.walk().line_bytes()), tags_(system), missed_(system, 2 * lines.room()), size_(caches) {
    uint64_t all = 0;
    for (size_t i = 0; i < caches; ++i) all += cache_bytes[i] / line_bytes_;
    tags_.grow(all);
    uint64_t* next = tags_.data();
    for (size_t i = 0; i < caches; ++i) {
        const uint64_t sets = cache_bytes[i] / line_bytes_;
        caches_[i] = {set_index(sets), next, 0, true};
        next += sets;
        for (size_t later = i + 1; later < caches; ++later)
            caches_[i].later_have_it &= cache_bytes[later] / line_bytes_ % sets == 0;
        lines.add_user(sets);
    }
    flush();
}

// Returns the number of lines missed, including the other lines of joined references.
template <class Index>
size_t direct_mapped_bank::pass(one_cache& cache, const Index& index, const uint64_t* lines, size_t count,
                                uint64_t* missed) {
    uint64_t* const tags = cache.tags;
    size_t size = 0, joined = 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t line = lines[i];
        if (__builtin_expect((line & touched_lines::joined) != 0, 0)) {
            const size_t first = size;
            bool misses = false;
            for (;; ++i) {
                line = lines[i] & ~touched_lines::joined;
                uint64_t& tag = tags[index(line)];
                misses |= tag != line;
                tag = line;
                missed[size++] = lines[i];
                if (lines[i] == line) break;
            }
            if (misses)
                joined += size - first - 1;
            else
                size = first;
            continue;
        }
        uint64_t& tag = tags[index(line)];
        missed[size] = line;
        size += tag != line;
        tag = line;
    }
    cache.misses += size - joined;
    return size;
}

void direct_mapped_bank::take(const touched_lines& from) {
    references_ += from.references();
    const uint64_t* lines = from.data();
    size_t count = from.size();
    uint64_t *missed = missed_.data(), *other = missed_.data() + missed_.size() / 2;
    for (size_t i = 0; i < size_ && count != 0; ++i) {
        one_cache& cache = caches_[i];
        const uint64_t sets = cache.index.sets();
        const size_t left =
            (sets & (sets - 1)) == 0
                ? pass(
                      cache, [mask = sets - 1](uint64_t line) { return line & mask; }, lines, count, missed)
                : pass(cache, [sets](uint64_t line) { return line % sets; }, lines, count, missed);
        if (!cache.later_have_it) continue;
        lines = missed;
        count = left;
        missed = other;
        other = const_cast<uint64_t*>(lines);
    }
}

void direct_mapped_bank::flush() { fill(tags_.data(), tags_.size(), no_line); }

void direct_mapped_bank::tell(const report& to) const {
    to(count_of("references", "references", references_));
    for (size_t i = 0; i < size_; ++i) {
        count_row row = count_of("misses", "references", caches_[i].misses);
        row.sets = caches_[i].index.sets();
        row.ways = 1;
        row.line_bytes = static_cast<uint32_t>(line_bytes_);
        row.cache_bytes = row.sets * row.line_bytes;
        to(row);
    }
}

}  // namespace millpond::simulate
