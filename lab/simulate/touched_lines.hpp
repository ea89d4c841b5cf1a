// SPDX-License-Identifier: BSL-1.0
// touched_lines: the lines of a piece of references that can change a cache; a filter in front of many caches.
//
//   references ──▶ the latest line of each of 64 sets │ the same: a hit in every cache; it is only counted
//                                                     │ another ──▶ list ──▶ caches whose sets are multiples of 64
//
// A line that is the latest of its set is also the latest in all finer sets: a least-recently-used or direct-mapped
// cache with such sets holds it and does not change. A line in the list may still hit. A reference to
// several lines stays together: all its lines except the last are marked `joined`, if any of them can change a cache.
// Only the branch for several lines depends on the references. Memory: 8 bytes a set, and the list. Not thread-safe.
#pragma once

#include "lab/simulate/array.hpp"
#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

class touched_lines {
  public:
    static constexpr size_t references_max = 1024;  // taken at a time
    static constexpr uint64_t joined = uint64_t{1} << 63;

    touched_lines(const host& system, line_walk lines)
        : walk_(lines), lines_at_once_(65535 / lines.line_bytes() + 2), sets_(system, sets_max), list_(system, room()) {
        flush();
    }

    const line_walk& walk() const { return walk_; }
    // Returns the largest length of the list.
    size_t room() const { return 2 * references_max + lines_at_once_; }

    // Adds a cache that uses the list. Forgets the latest lines, because the new cache holds none.
    void add_user(uint64_t sets);

    // Makes the list from the first references. Returns their number: all, or as many as the list has room for.
    size_t take(const reference* batch, size_t count);
    const uint64_t* data() const { return list_.data(); }
    size_t size() const { return size_; }
    uint64_t references() const { return references_; }  // the references in the list; one per line if each line counts

    void flush() { fill(sets_.data(), sets_.size(), no_line); }

  private:
    static constexpr uint64_t sets_max = 1024;  // more would not stay in the first-level cache

    size_t put_several(const reference& r, size_t size);

    line_walk walk_;
    size_t lines_at_once_;  // largest number of lines of one reference
    uint64_t set_count_ = sets_max;
    array<uint64_t> sets_, list_;
    size_t size_ = 0;
    uint64_t references_ = 0;
};

}  // namespace millpond::simulate
