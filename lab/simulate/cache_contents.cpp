// SPDX-License-Identifier: BSL-1.0
// Follows the bytes of each line through the cache.
#include "lab/simulate/cache_contents.hpp"

namespace millpond::simulate {

cache_contents::cache_contents(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule,
                               uint64_t seed)
    : lines_(lines),
      parts_(lines.line_bytes()),
      cache_(system, sets, ways, rule, seed),
      states_(system),
      inside_(system, ways == 1 ? sets : 0) {}

void cache_contents::give(line_state& one, unsigned origin, uint64_t parts) const {
    for (unsigned each = 0; each < origins; ++each)
        one.of[each] = (one.of[each] & ~parts) | (each == origin ? parts : 0);
}

// References to several lines are taken apart, so that the loop keeps all that it needs in registers.
void cache_contents::take_directly(const reference* batch, size_t count) {
    const line_walk walk = lines_;
    const line_parts parts = parts_;
    const set_cache::only_ways only_way = cache_.direct();
    line_state* const inside = inside_.data();
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        if (__builtin_expect(!walk.is_within_one(r), 0)) {
            take_several(r);
            continue;
        }
        const uint64_t line = walk.first(r), set = only_way.index(line);
        if (only_way.places[set] != line) exchange(set, line);
        give(inside[set], owner_of(r), parts.within_one(r));
    }
}

void cache_contents::take_several(const reference& r) {
    const set_cache::only_ways only_way = cache_.direct();
    for (uint64_t line = lines_.first(r); line <= lines_.last(r); ++line) {
        const uint64_t set = only_way.index(line);
        if (only_way.places[set] != line) exchange(set, line);
        give(inside_[set], owner_of(r), parts_.of(line, r));
    }
}

// Puts a line into its set, and keeps the state of the line that leaves it. Apart, so that the loop has its registers.
__attribute__((noinline)) void cache_contents::exchange(uint64_t set, uint64_t line) {
    uint64_t& way = cache_.direct().places[set];
    line_state& inside = inside_[set];
    if (way != no_line) {
        settle(inside);
        states_[way] = inside;
    }
    inside = states_[line];
    inside.is_inside = true;
    way = line;
}

void cache_contents::take(const reference* batch, size_t count) {
    if (cache_.ways() == 1) return take_directly(batch, count);
    for (size_t i = 0; i < count; ++i) {
        const reference& r = batch[i];
        const unsigned origin = owner_of(r);
        const uint64_t last = lines_.last(r);
        // Most references are to the line of the one before, and change nothing.
        if (last == latest_line_ && lines_.first(r) == last) {
            const uint64_t parts = parts_.of(last, r);
            if ((latest_->of[origin] & parts) == parts) continue;
        }
        for (uint64_t line = lines_.first(r);; ++line) {
            if (!cache_.use(line)) {
                const uint64_t evicted = cache_.insert(line);
                if (evicted != no_line) settle(states_[evicted]);
            }
            line_state& state = states_[line];
            state.is_inside = true;
            const uint64_t parts = parts_.of(line, r);
            if ((state.of[origin] & parts) != parts) give(state, origin, parts);
            latest_line_ = line;
            latest_ = &state;
            if (line == last) break;
        }
    }
}

void cache_contents::flush() {
    const set_cache::only_ways only_way = cache_.direct();
    for (size_t set = 0; set < inside_.size(); ++set) {
        settle(inside_[set]);
        const uint64_t line = only_way.places[set];
        if (line != no_line) states_[line] = inside_[set];
    }
    cache_.flush();
    latest_line_ = no_line;
    states_.for_each([this](uint64_t, line_state& each) { settle(each); });
}

void cache_contents::settle(line_state& one) {
    if (one.is_inside) add(settled_, one);
    one.is_inside = false;
}

void cache_contents::add(counts& to, const line_state& one) const {
    to.fetched += lines_.line_bytes();
    for (unsigned origin = 0; origin < origins; ++origin) to.held[origin] += parts_.bytes(one.of[origin]);
}

cache_contents::counts cache_contents::total() const {
    counts sum = settled_;
    const auto add_inside = [&](const line_state& each) {
        if (each.is_inside) add(sum, each);
    };
    states_.for_each([&](uint64_t, const line_state& each) { add_inside(each); });
    for (size_t set = 0; set < inside_.size(); ++set) add_inside(inside_[set]);
    return sum;
}

void cache_contents::tell(const report& to) const {
    const counts sum = total();
    const auto row = [&](const char* metric, uint64_t value, uint32_t origin) {
        count_row one = count_of(metric, "bytes", value);
        one.sets = cache_.sets();
        one.ways = cache_.ways();
        one.line_bytes = lines_.line_bytes();
        one.cache_bytes = one.sets * one.ways * one.line_bytes;
        one.origin = origin;
        to(one);
    };
    row("fetched", sum.fetched, any);
    for (uint32_t origin = 0; origin < origins; ++origin) row("held", sum.held[origin], origin);
}

}  // namespace millpond::simulate
