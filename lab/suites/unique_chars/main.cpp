// SPDX-License-Identifier: BSL-1.0
// millpond-unique_chars-suite: the case studies of the talk "Understanding Allocator Impact on Runtime Performance".
#include "contenders.hpp"
#include "lab/suites/frame/noted_new_delete.hpp"
#include "lab/suites/frame/suite.hpp"

namespace {

using namespace millpond;

// The blocks of as many calls as litter_calls says.
void note_blocks(const frame::point& asked, measure::littering& blocks) {
    frame::noting = &blocks;
    unique_chars::count_noted({asked.count("length"), asked.seed()}, asked.count("litter_calls"));
}

constexpr const frame::workload* workloads[] = {&unique_chars::unique_characters};
constexpr frame::suite suite{.name = "unique_chars",
                             .of = "a case study of allocator impact",
                             .workloads = workloads,
                             .contenders = unique_chars::contenders,
                             .note_blocks = note_blocks};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
