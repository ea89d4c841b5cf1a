// SPDX-License-Identifier: BSL-1.0
#include "workload.hpp"

namespace millpond::suites {

std::span<const workload* const> all_workloads() {
    static const workload* const all[] = {
        &vector_string,
        &unordered_set_int,
        &unordered_set_string,
        &vector_vector_string,
        &vector_unordered_set_int,
        &vector_unordered_set_string,
        &vector_int,
        &vector_int_64,
        &vector_int_growing,
        &lists_shuffled,
        &free_allocate,
        &size_sweep,
        &threads_own,
        &threads_handover,
        &unique_characters,
        &churn_fifo,
        &churn_random,
        &construct_empty,
        &push_back,
        &push_back_huge,
        &push_back_pauses,
        &commit_steps_sweep,
        &small_array_int,
        &small_array_unique,
        &slots_of_numbers,
        &slots_sparse,
        &slots_pairs,
        &set_of_numbers,
        &random_sizes,
    };
    return all;
}

}  // namespace millpond::suites
