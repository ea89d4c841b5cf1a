// SPDX-License-Identifier: BSL-1.0
// millpond-unique_chars-suite: the case studies of the talk "Understanding Allocator Impact on Runtime Performance".
#include "contenders.hpp"
#include "lab/suites/experiment/suite.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

const std::vector<experiment::strategy_name>& names() {
    static const std::vector<experiment::strategy_name> all = [] {
        std::vector<experiment::strategy_name> found;
        for (const unique_chars::contender& each : unique_chars::contenders()) {
            found.push_back({std::string(each.name), std::string(each.alias)});
        }
        return found;
    }();
    return all;
}

void prepare(const experiment::point&) {}

void conclude(const experiment::point& asked, experiment::outcome& measured) {
    if (unique_chars::contenders()[asked.strategy].keeps_chunks) measured.held_bytes = chunk_cache::held_bytes();
}

constexpr const experiment::workload* workloads[] = {&unique_chars::unique_characters};
constexpr experiment::suite suite{"unique_chars", "a case study of allocator impact", workloads, names, prepare,
                                  conclude,       unique_chars::note_blocks};

}  // namespace

int main(int argc, char** argv) { return experiment::run_suite(suite, argc, argv); }
