// SPDX-License-Identifier: BSL-1.0
// millpond-malloc-suite: stresses a malloc as programs do: many threads, frees by other threads, changing sizes,
// growing blocks. It has one contender, `malloc`: the process's malloc, from the C library or preloaded.
#include "lab/program/program.hpp"
#include "lab/suites/frame/suite.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

constexpr frame::contender contenders[] = {{.name = "malloc", .kind = "malloc", .from = &frame::packages::libc}};

void note_blocks(const frame::point&, measure::heap_litter&) {
    throw program::failure(program::usage, "this suite litters nothing: leave --litter out");
}

constexpr const frame::workload* workloads[] = {
    &malloc_suite::own,         &malloc_suite::handover, &malloc_suite::larson, &malloc_suite::random_sizes,
    &malloc_suite::churn_sizes, &malloc_suite::grow,     &malloc_suite::stress};
constexpr frame::suite suite{.name = "malloc",
                             .of = "a benchmark of the process's malloc",
                             .workloads = workloads,
                             .contenders = [] { return std::span<const frame::contender>(contenders); },
                             .note_blocks = note_blocks};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
