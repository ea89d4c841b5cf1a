// SPDX-License-Identifier: BSL-1.0
// Follows the bytes of each line through the cache.
#include "lab/simulate/cache_contents.hpp"

namespace millpond::simulate {

cache_contents::cache_contents(const host& system, line_walk lines, uint64_t sets, unsigned ways, replacement rule,
                               uint64_t seed)
    : lines_(lines), parts_(lines.line_bytes()), cache_(system, sets, ways, rule, seed), states_(system) {}

void cache_contents::take(const reference* batch, size_t count) {
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
            if ((state.of[origin] & parts) != parts) {
                for (unsigned each = 0; each < origins; ++each) state.of[each] &= ~parts;
                state.of[origin] |= parts;
            }
            latest_line_ = line;
            latest_ = &state;
            if (line == last) break;
        }
    }
}

void cache_contents::flush() {
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
    states_.for_each([&](uint64_t, const line_state& each) {
        if (each.is_inside) add(sum, each);
    });
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
