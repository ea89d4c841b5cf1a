// SPDX-License-Identifier: BSL-1.0
// workload: what the suite knows of each of its workloads: what a unit is, which sizes, who can run it.
//
// One object for each, defined beside the code that it runs; all_workloads lists them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cell.hpp"

namespace millpond::suites {

struct workload {
    std::string_view name;
    std::string_view unit;     // what the times are for
    std::string_view size_is;  // what --size means; empty: it has none
    std::vector<std::uint64_t> sizes;
    std::vector<std::string_view> options;  // what else it takes: af, sf, threads
    std::vector<entry> (*contenders)();
    // Whether --instructions counts something here: the name of the function.
    std::string_view counted_function = {};

    [[nodiscard]] bool takes(std::string_view option) const {
        return std::find(options.begin(), options.end(), option) != options.end();
    }
};

extern const workload vector_int, vector_int_64, vector_int_growing, vector_string;
extern const workload unordered_set_int, unordered_set_string;
extern const workload vector_vector_string, vector_unordered_set_int, vector_unordered_set_string;
extern const workload lists_shuffled, free_allocate, size_sweep, threads_own, threads_handover;
extern const workload unique_characters, churn_fifo, churn_random, construct_empty;
extern const workload push_back, push_back_huge, push_back_pauses, commit_steps_sweep;
extern const workload small_array_int, small_array_unique;
extern const workload slots_of_numbers, slots_sparse, slots_pairs, set_of_numbers;
extern const workload random_sizes;

std::span<const workload* const> all_workloads();

}  // namespace millpond::suites
