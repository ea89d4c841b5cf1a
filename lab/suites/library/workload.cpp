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
    };
    return all;
}

}  // namespace millpond::suites
