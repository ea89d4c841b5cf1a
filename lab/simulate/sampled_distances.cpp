// SPDX-License-Identifier: BSL-1.0
// Samples blocks, scales their distances, and computes the deviation between groups.
#include "lab/simulate/sampled_distances.hpp"

namespace millpond::simulate {
namespace {

__extension__ using wide = unsigned __int128;

// Returns the square root, rounded down (Newton).
uint64_t square_root(wide of) {
    if (of == 0) return 0;
    wide root = of, next = (of >> 1) + 1;
    while (next < root) {
        root = next;
        next = (root + of / root) / 2;
    }
    return static_cast<uint64_t>(root);
}

}  // namespace

sampled_distances::sampled_distances(const host& system, line_walk blocks, uint64_t one_in)
    : blocks_(blocks), one_in_(one_in), stack_(system) {}

void sampled_distances::touch(uint64_t block) {
    const uint64_t hash = mixed(block);
    if (!is_sampled_hash(hash)) return;
    ++sampled_;
    const uint64_t distance = stack_.touch<portable_lanes>(block);
    unsigned missed_sizes = sizes;
    if (distance < lru_stack::flushed) {
        const uint64_t scaled = distance * one_in_;
        missed_sizes = scaled == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(scaled));
        if (missed_sizes > sizes) missed_sizes = sizes;
    }
    ++missed_[hash % groups][missed_sizes];
}

// Each block is sampled on its own, so a reference to two blocks always counts as two.
void sampled_distances::take(const reference* batch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const uint64_t last = blocks_.last(batch[i]);
        for (uint64_t block = blocks_.first(batch[i]);; ++block) {
            ++references_;
            touch(block);
            if (block == last) break;
        }
    }
}

sampled_distances::estimate sampled_distances::misses_of_power(unsigned blocks_log2) const {
    uint64_t sum = 0;
    wide squares = 0;
    for (const auto& group : missed_) {
        uint64_t misses = 0;
        for (unsigned sizes_missed = blocks_log2 + 1; sizes_missed <= sizes; ++sizes_missed)
            misses += group[sizes_missed];
        sum += misses;
        squares += static_cast<wide>(misses) * misses;
    }
    // Blocks are sampled independently of one another, and so the sums of groups are independent, too. The variance of
    // the sum is n/(n-1) times the squares around their mean, less the share 1/N of blocks that are certainly in the
    // sample.
    const wide around_mean = squares - static_cast<wide>(sum) * sum / groups;
    const wide variance = around_mean * groups / (groups - 1);
    const wide of_all = variance * one_in_ * (one_in_ - 1);
    return {sum * one_in_, square_root(of_all)};
}

void sampled_distances::tell(const report& to) const {
    const auto row = [&](const char* metric, const char* unit, uint64_t value, uint64_t blocks = 0) {
        count_row one = count_of(metric, unit, value);
        one.line_bytes = static_cast<uint32_t>(blocks_.line_bytes());
        one.cache_bytes = blocks * blocks_.line_bytes();
        to(one);
    };
    row("references", "references", references_);
    row("sampled", "references", sampled_);
    row("memory", "bytes", bytes());
    // Below N blocks all scaled distances are zero or too large; if only first uses are left, they stay.
    const uint64_t of_all_sizes = misses_of_power(sizes - 1).misses;
    for (unsigned power = 0; power < sizes; ++power) {
        if (uint64_t{1} << power < one_in_) continue;
        const estimate found = misses_of_power(power);
        row("misses_estimated", "references", found.misses, uint64_t{1} << power);
        row("misses_deviation", "references", found.deviation, uint64_t{1} << power);
        if (found.misses == of_all_sizes) break;
    }
}

}  // namespace millpond::simulate
