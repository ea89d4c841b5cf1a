// SPDX-License-Identifier: BSL-1.0
// Moves lines between the levels, for each of the three kinds of hierarchy.
#include "lab/simulate/hierarchy.hpp"

#include <new>

namespace millpond::simulate {

hierarchy::hierarchy(const host& system, touched_lines& lines, const level_shape* levels, unsigned count,
                     inclusion rule)
    : line_bytes_(lines.walk().line_bytes()), rule_(rule), count_(count), neighbours_(line_bytes_) {
    for (unsigned i = 0; i < count; ++i) {
        new (levels_[i]) set_cache(system, levels[i].sets, levels[i].ways);
        lines.add_user(levels[i].sets);
    }
}

hierarchy::~hierarchy() {
    for (unsigned i = 0; i < count_; ++i) at(i).~set_cache();
}

unsigned hierarchy::touch(uint64_t line) {
    unsigned missed = 0;
    while (missed < count_ && !at(missed).use(line)) ++missed;
    if (missed == 0) return 0;
    if (rule_ == inclusion::exclusive) {
        if (missed < count_) at(missed).remove(line);
        move_down(line);
    } else {
        fill_levels(line, missed);
    }
    return missed;
}

// Fills from the outermost level inwards, so that an inner level that loses a line has room for the new one.
void hierarchy::fill_levels(uint64_t line, unsigned missed) {
    for (unsigned level = missed; level-- > 0;) {
        const uint64_t evicted = at(level).insert(line);
        if (rule_ != inclusion::inclusive || evicted == no_line) continue;
        for (unsigned inner = 0; inner < level; ++inner) at(inner).remove(evicted);
    }
}

void hierarchy::move_down(uint64_t line) {
    for (unsigned level = 0; level < count_ && line != no_line; ++level) line = at(level).insert(line);
}

void hierarchy::take(const touched_lines& lines) {
    references_ += lines.references();
    const uint64_t* const list = lines.data();
    const size_t count = lines.size();
    unsigned missed = 0;
    bool all_foreseen = true;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t line = list[i] & ~touched_lines::joined;
        const unsigned own = touch(line);
        if (own > missed) missed = own;
        if (own != 0 && (neighbours_.is_empty() || !neighbours_.foresees(line))) all_foreseen = false;
        if (list[i] != line) continue;  // other lines of the same reference follow
        for (unsigned level = 0; level < missed; ++level) {
            ++misses_[level];
            foreseen_[level] += all_foreseen;
        }
        missed = 0;
        all_foreseen = true;
    }
}

void hierarchy::flush() {
    for (unsigned i = 0; i < count_; ++i) at(i).flush();
}

void hierarchy::tell(const report& to) const {
    to(count_of("references", "references", references_));
    for (unsigned i = 0; i < count_; ++i) {
        count_row row = count_of("misses", "references", misses_[i]);
        row.level = i + 1;
        row.sets = at(i).sets();
        row.ways = at(i).ways();
        row.line_bytes = line_bytes_;
        row.cache_bytes = row.sets * row.ways * row.line_bytes;
        to(row);
        if (neighbours_.is_empty()) continue;
        row.metric = "foreseen";
        row.value = foreseen_[i];
        to(row);
    }
}

}  // namespace millpond::simulate
