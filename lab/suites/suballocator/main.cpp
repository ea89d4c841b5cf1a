// SPDX-License-Identifier: BSL-1.0
// millpond-suballocator-suite: runs the benchmarks of the Counter Tree Library's suballocator.
#include "contenders.hpp"
#include "lab/suites/frame/suite.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

void note_blocks(const frame::point& asked, measure::heap_litter& blocks) {
    frame::noting = &blocks;
    asked.of->run(asked);
}

constexpr const frame::workload* workloads[] = {&suballocator_suite::doubles, &suballocator_suite::five_operations,
                                                &suballocator_suite::larger_blocks, &suballocator_suite::set_inserts,
                                                &suballocator_suite::containers};
constexpr frame::suite suite{
    .name = "suballocator",
    .of = "a benchmark of the suballocator",
    .workloads = workloads,
    .contenders = [] { return std::span<const frame::contender>(suballocator_suite::contenders); },
    .note_blocks = note_blocks};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
