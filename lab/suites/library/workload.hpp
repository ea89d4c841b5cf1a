// SPDX-License-Identifier: BSL-1.0
// workload: the workloads of the library's suite: the data that the frame needs of each, and their lists of contenders.
//
//   std::vector<entry> all();      a function for each contender, from contenders.hpp
//   const workload churn_fifo = workload_of<all>("churn_fifo", …);
//
// One object for each, defined next to the code that it runs; main.cpp lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lab/suites/frame/contender.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::library {

using frame::metric, frame::outcome, frame::parameter, frame::point, frame::seed_parameter, frame::workload;

// Returns all contenders, built in or not: contender_table.cpp.
std::span<const frame::contender> contenders();

struct entry {
    std::string_view contender;
    outcome (*run)(const point&);
};

// Finds the code for a contender by its name, or its alias, in the suite's table.
template <std::vector<entry> (*Entries)()>
struct dispatch {
    static const entry* find(std::size_t contender) {
        static const std::vector<entry> all = Entries();
        const frame::contender& wanted = contenders()[contender];
        for (const entry& each : all) {
            if (each.contender == wanted.name || each.contender == wanted.alias) return &each;
        }
        return nullptr;
    }
    static bool takes(std::size_t contender) { return find(contender) != nullptr; }
    static outcome run(const point& asked) { return find(asked.contender)->run(asked); }
};

template <std::vector<entry> (*Entries)()>
constexpr workload workload_of(std::string_view name, std::string_view unit, std::span<const parameter> parameters,
                               std::span<const metric> metrics,
                               std::span<const std::string_view> counted_functions = {}) {
    return {.name = name,
            .unit = unit,
            .parameters = parameters,
            .metrics = metrics,
            .takes = dispatch<Entries>::takes,
            .run = dispatch<Entries>::run,
            .counted_functions = counted_functions};
}

inline constexpr std::int64_t many = std::int64_t{1} << 32;
constexpr parameter size_parameter(std::int64_t usual, std::string_view meaning) {
    return {"size", usual, 1, many - 1, meaning};
}
constexpr parameter units_parameter(std::int64_t usual) {
    return {"units", usual, 1, many, "about so many in all warm passes"};
}

inline constexpr metric metrics_of_passes[] = {"warm_ns", "cold_ns", "page_faults"};

extern const workload vector_int, vector_int_64, vector_int_growing, vector_string;
extern const workload unordered_set_int, unordered_set_string;
extern const workload vector_vector_string, vector_unordered_set_int, vector_unordered_set_string;
extern const workload lists_shuffled, free_allocate, size_sweep, threads_own, threads_handover;
extern const workload unique_characters, churn_fifo, churn_random, construct_empty;
extern const workload push_back, push_back_huge, push_back_pauses, commit_steps_sweep;
extern const workload small_array_int, small_array_unique;
extern const workload slots_of_numbers, slots_sparse, slots_pairs, set_of_numbers, set_life;
extern const workload random_sizes;
extern const workload small_sets, small_lists, merged_sets, spliced_lists;
extern const workload ordered_numbers, small_ordered_numbers, ranked_numbers, sequence, sequence_crossing;

}  // namespace millpond::library
