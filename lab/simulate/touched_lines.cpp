// SPDX-License-Identifier: BSL-1.0
// Passes over the references, for all caches that share a line size.
#include "lab/simulate/touched_lines.hpp"

namespace millpond::simulate {

void touched_lines::add_user(uint64_t sets) {
    const uint64_t power = sets & (0 - sets);
    if (power < set_count_) set_count_ = power;
    flush();
}

size_t touched_lines::put_several(const reference& r, size_t size) {
    const bool apart = walk_.rule() == straddling::twice;
    const uint64_t last = walk_.last(r);
    const size_t before = size;
    bool changes = false;
    for (uint64_t line = walk_.first(r);; ++line) {
        uint64_t& latest = sets_[line & (set_count_ - 1)];
        const bool is_other = latest != line;
        latest = line;
        changes |= is_other;
        list_[size] = apart || line == last ? line : line | joined;
        size += !apart || is_other;
        if (apart || line == last) ++references_;
        if (line == last) break;
    }
    return apart || changes ? size : before;
}

size_t touched_lines::take(const reference* batch, size_t count) {
    const line_walk walk = walk_;
    const uint64_t mask = set_count_ - 1;
    uint64_t* const sets = sets_.data();
    uint64_t* const list = list_.data();
    if (count > references_max) count = references_max;
    size_t size = 0, several = 0, i = 0;
    references_ = 0;
    for (; i < count; ++i) {
        const reference& r = batch[i];
        if (__builtin_expect(!walk.is_within_one(r), 0)) {
            if (size + (count - i) + lines_at_once_ > list_.size()) break;
            size = put_several(r, size);
            ++several;
            continue;
        }
        const uint64_t line = walk.first(r);
        uint64_t& latest = sets[line & mask];
        list[size] = line;
        size += latest != line;
        latest = line;
    }
    size_ = size;
    references_ += i - several;
    return i;
}

}  // namespace millpond::simulate
