// SPDX-License-Identifier: BSL-1.0
// OpenMP: teams that shrink and grow, and tasks that one thread makes and another frees.
#include <omp.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

long team_sum(int threads) {
    long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        std::vector<std::string> own;
        for (int i = 0; i < 20; ++i) own.emplace_back(static_cast<std::size_t>(10 + i * 7), 'x');
        for (const std::string& each : own) sum += static_cast<long>(each.size());
    }
    return sum / threads;
}

// Starts threads that only wait at the team's barrier and allocate nothing.
void idle_team(int threads) {
#pragma omp parallel num_threads(threads)
    {
    }
}

long task_sum(int depth) {
    if (depth == 0) return 1;
    auto left = std::make_unique<long>(0), right = std::make_unique<long>(0);
    long* const l = left.get();
    long* const r = right.get();
#pragma omp task shared(l)
    *l = task_sum(depth - 1);
#pragma omp task shared(r)
    *r = task_sum(depth - 1);
#pragma omp taskwait
    return *left + *right;
}

}  // namespace

int main() {
    omp_set_dynamic(0);
    const int sizes[] = {2, 12, 1, 9, 3, 16, 2, 7, 11, 4};
    long sum = 0, tasks = 0;
    for (int round = 0; round < 6; ++round) {
        for (const int size : sizes) {
            idle_team(size);
            sum += team_sum(size);
        }
#pragma omp parallel num_threads(2 + round)
#pragma omp single
        tasks += task_sum(8);
    }
    std::printf("%ld %ld\n", sum, tasks);
    return sum == 60 * 1530 && tasks == 6 * 256 ? 0 : 1;
}
