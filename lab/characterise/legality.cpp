// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/legality.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

// Few, and each from another context where there are several.
void add_witness(std::vector<witness>& witnesses, const witness& seen) {
    if (witnesses.size() == legality_record::witnesses_max) return;
    const auto same = [&](const witness& known) { return known.context == seen.context; };
    if (std::none_of(witnesses.begin(), witnesses.end(), same)) witnesses.push_back(seen);
}

}  // namespace

legality_record::legality_record(const scope_tree& scopes, std::size_t subsystems)
    : scopes_(scopes), candidates_(subsystems), index_(subsystems), of_threads_(subsystems) {
    for (std::uint32_t s = 0; s < subsystems; ++s) {
        index_[s].first.fill(candidate_index::none);
        for (const std::uint32_t f : scopes.candidates(s)) {
            std::uint8_t& first = index_[s].first[f % index_[s].first.size()];
            if (first == candidate_index::none) first = static_cast<std::uint8_t>(candidates_[s].size());
            candidates_[s].push_back({f, {}, {}});
        }
    }
}

void legality_record::open_row(context_counts& context) {
    context.outlived = static_cast<std::uint32_t>(rows_.size());
    rows_.resize(rows_.size() + context.depth);
}

void legality_record::offer(context_counts& context, std::size_t surviving, const witness& seen) {
    context.witnessed = static_cast<std::uint16_t>(surviving);
    for (candidate_record& candidate : candidates_[context.subsystem]) {
        const std::uint32_t owning = scopes_.innermost_of(context.scope, candidate.function);
        if (owning != 0 && scopes_.depth(owning) > surviving) add_witness(candidate.witnesses, seen);
    }
}

void legality_record::outlived_thread(std::uint32_t subsystem, const witness& seen) {
    add_witness(of_threads_[subsystem], seen);
}

std::uint64_t legality_record::outlived_depth(std::uint32_t row, std::uint32_t depth) const {
    std::uint64_t total = 0;
    for (std::size_t d = 0; row != 0 && d < depth; ++d) total += rows_[row + d];
    return total;
}

}  // namespace millpond::characterise
