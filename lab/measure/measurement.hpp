// SPDX-License-Identifier: BSL-1.0
// measurement: the cost of one run of a program in a fresh process, and how the run ended.
//
//   start ──────────── wall ────────────▶ end        cpu = user + system, of the process
//                                                    and of the descendants it waited for
//
// Use it for one round; the conductor interleaves, repeats and computes statistics. Signals: an interrupt from the
// terminal reaches the program directly, and the caller keeps waiting; SIGTERM and SIGHUP sent to the caller are passed
// on to the program. Not thread-safe, because signal handlers belong to the whole process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/measure/start.hpp"

namespace millpond::measure {

struct measurement {
    double user_seconds = 0;
    double system_seconds = 0;
    double wall_seconds = 0;
    std::uint64_t peak_bytes = 0;    // peak resident bytes of the largest of these processes
    std::uint64_t page_faults = 0;   // including major_faults
    std::uint64_t major_faults = 0;  // faults that waited for a disk
    int exit_status = 0;             // meaningless if a signal ended the program
    int signal = 0;                  // 0: it exited

    double cpu_seconds() const { return user_seconds + system_seconds; }
};

// Runs the program to its end. Throws failure if start does: then the program never ran.
measurement measure(const std::string& path, const std::vector<std::string>& arguments, const start_options& options);

// The name of the variable that randomises the size of the environment, and with it the position of the stack. That
// position changes the results of small caches by more than a per cent. The program can see the variable, like
// LD_PRELOAD; nothing reads it.
inline constexpr const char* padding_variable = "MILLPOND_PAD";

// Adds `bytes` of padding to the environment; 0 adds none.
void add_padding(start_options& options, std::size_t bytes);

}  // namespace millpond::measure
