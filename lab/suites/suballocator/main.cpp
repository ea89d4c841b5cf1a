// SPDX-License-Identifier: BSL-1.0
// millpond-suballocator-suite: the benchmarks of the Counter Tree Library's suballocator.
#include "contenders.hpp"
#include "lab/suites/experiment/suite.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

const std::vector<experiment::strategy_name>& names() {
    static const std::vector<experiment::strategy_name> all = [] {
        std::vector<experiment::strategy_name> found;
        for (const suballocator_suite::contender& each : suballocator_suite::contenders) {
            found.push_back({std::string(each.name), std::string(each.alias)});
        }
        return found;
    }();
    return all;
}

void prepare(const experiment::point&) {}

void conclude(const experiment::point& asked, experiment::outcome& measured) {
    if (suballocator_suite::contenders[asked.strategy].keeps_chunks) {
        measured.held_bytes = chunk_cache::held_bytes();
    }
}

void note_blocks(const experiment::point& asked, measure::littering& blocks) {
    experiment::noting = &blocks;
    asked.of->run(asked);
}

constexpr const experiment::workload* workloads[] = {&suballocator_suite::doubles, &suballocator_suite::five_operations,
                                                     &suballocator_suite::set_inserts};
constexpr experiment::suite suite{
    "suballocator", "a benchmark of the suballocator", workloads, names, prepare, conclude, note_blocks};

}  // namespace

int main(int argc, char** argv) { return experiment::run_suite(suite, argc, argv); }
