// SPDX-License-Identifier: BSL-1.0
// capture: runs a program under Valgrind with Millpond's tool, which writes the program's references.
//
//   run() ─▶ valgrind --tool=millpond ─▶ capture_writer ─▶ FILE.partial.PID.IMAGE of each process ─▶ finishing
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/references/capture_writer.hpp"
#include "lab/references/finishing.hpp"

namespace millpond::references {

struct capture_options {
    std::string file;                     // the trace of the program
    std::uint64_t from = 0;               // leave out this many instructions at the start
    std::uint64_t instructions = 0;       // capture at most this many; 0: all
    std::string sample;                   // BURST/PERIOD in instructions, or empty
    bool skips_start = false;             // do not capture before main
    std::string window;                   // capture only while this function runs; empty: all
    bool discards = false;                // write nothing: to measure the cost of capturing
    std::vector<std::string> simulators;  // these count inside the program; no reference is written
    std::uint32_t access_bytes_max = 0;   // simulators count longer accesses as this many bytes; 0: unlimited
    bool with_system = false;             // simulators also count what system calls read and wrote
    bool dies_with_capture = false;       // the program is killed with this process
    std::string preload;                  // a library to preload into the program, or empty
    std::string calls;                    // a script of calls to play instead of the program, or empty
    std::vector<std::string> command;
};

// Checks for Valgrind and Millpond's tool. Throws failure, one sentence: missing, of another version, or not built.
void check_valgrind();

struct captured_run {
    program_end end;
    capture_report report;
    std::string window;  // symbol of the window's function
};

// Starts the command and waits for it. Throws failure if it cannot be started.
captured_run run(const capture_options& options);

}  // namespace millpond::references
