// SPDX-License-Identifier: BSL-1.0
// cell: what one process of the suite is asked to run, and what it measured.
//
//   --workload W --contender C --size N … ──▶ cell ──▶ workload ──▶ outcome ──▶ one line of JSON
//
// Plain data. Times are nanoseconds a unit (leaf element, pair, node, …) of process CPU time, unless they say wall.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace millpond::suites {

struct cell {
    std::string_view workload;
    std::string_view contender;
    const char* peer = nullptr;  // the library of the contender `adapter`
    std::uint64_t size = 0;      // 0: the first size that the workload lists
    std::uint64_t access_factor = 1;
    std::uint64_t shuffle_factor = 5;
    std::uint64_t threads = 0;  // 0: 2 where the workload has threads, else 1
    std::uint64_t seed = 1;
    std::uint64_t scale_units = 0;   // about so many units in all warm passes; 0: the workload's own
    std::uint64_t instructions = 0;  // above 0: the counted function so many times, and nothing is timed
};

struct size_step {
    std::uint64_t size;
    double ns;
};

struct outcome {
    std::uint64_t units = 0;        // of all warm passes
    std::uint64_t checksum = 0;     // over what was touched: equal for all contenders of one cell
    std::optional<double> cold_ns;  // the first pass of the process
    std::optional<double> warm_ns;  // the median of the later passes
    std::optional<double> before_ns, after_ns;
    std::optional<double> wall_ns;
    std::optional<double> pause_ns;                               // the longest of the run
    std::uint64_t base_bytes = 0, peak_bytes = 0, end_bytes = 0;  // resident
    std::optional<std::uint64_t> held_bytes;                      // kept by the allocators when everything was freed
    std::optional<std::uint64_t> touched_bytes;                   // of the pages that live blocks touch
    double faults = 0;                                            // page faults of a warm pass
    std::vector<size_step> steps;
};

// Runs a cell for one contender.
using cell_runner = outcome (*)(const cell&);

struct entry {
    std::string_view contender;
    cell_runner run;
};

}  // namespace millpond::suites
