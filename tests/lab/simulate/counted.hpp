// SPDX-License-Identifier: BSL-1.0
// counted: the report of a simulation, for look-ups, and the instruction sets to try.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/simulate/instruction_set.hpp"
#include "lab/simulate/report.hpp"
#include "lab/simulate/running_simulation.hpp"
#include "streams.hpp"

namespace millpond::test {

struct counted_row {
    std::string metric;
    millpond_count row;
};

class counted {
  public:
    counted(const stream& all, const std::string& description, const millpond_rules& rules = {}) {
        const simulate::running_simulation simulation(rules, {description});
        // Batches of all lengths: what a simulator keeps must not depend on where they end.
        std::size_t from = 0, length = 1;
        for (; from < all.size(); length = length * 3 % 1789) {
            const std::size_t count = std::min(length, all.size() - from);
            simulation.take({.references = all.data() + from, .count = count});
            from += count;
        }
        millpond_simulation_report(
            simulation.get(), 0,
            [](void* rows, const millpond_count* row) {
                static_cast<std::vector<counted_row>*>(rows)->push_back({row->metric, *row});
            },
            &rows_);
    }

    const std::vector<counted_row>& rows() const { return rows_; }

    // The sum of the rows of this metric for which `fits` holds.
    template <class Fits>
    std::uint64_t sum(const std::string& metric, const Fits& fits) const {
        std::uint64_t total = 0;
        for (const counted_row& each : rows_) {
            if (each.metric == metric && fits(each.row)) total += each.row.value;
        }
        return total;
    }
    std::uint64_t sum(const std::string& metric) const {
        return sum(metric, [](const millpond_count&) { return true; });
    }

  private:
    std::vector<counted_row> rows_;
};

// Returns the instruction sets of this machine by the names of the rules, the portable one first.
inline std::vector<std::uint8_t> instruction_sets() {
    std::vector<std::uint8_t> sets;
    for (std::uint8_t set = 1; set <= static_cast<std::uint8_t>(simulate::best_instruction_set()); ++set)
        sets.push_back(set);
    return sets;
}

inline millpond_rules rules_with(std::uint8_t instruction_set, bool twice = false) {
    millpond_rules rules = {};
    rules.instruction_set_max = instruction_set;
    rules.straddle_twice = twice;
    return rules;
}

// True if all values but one or two are zero.
template <class Value, class... Others>
millpond_rules rules_of(Value millpond_rules::* which, std::uint64_t value, const Others&... others) {
    millpond_rules rules = {};
    if constexpr (sizeof...(others) != 0) rules = rules_of(others...);
    rules.*which = static_cast<Value>(value);
    return rules;
}

}  // namespace millpond::test
