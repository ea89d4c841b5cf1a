// SPDX-License-Identifier: BSL-1.0
// millpond-unique_chars-suite: the case studies of the talk "Understanding Allocator Impact on Runtime Performance".
#include "contenders.hpp"
#include "lab/suites/frame/suite.hpp"
#include "workload.hpp"

namespace {

using namespace millpond;

constexpr const frame::workload* workloads[] = {&unique_chars::unique_characters};
constexpr frame::suite suite{.name = "unique_chars",
                             .of = "a case study of allocator impact",
                             .workloads = workloads,
                             .contenders = unique_chars::contenders,
                             .note_blocks = unique_chars::note_blocks};

}  // namespace

int main(int argc, char** argv) { return frame::run_suite(suite, argc, argv); }
