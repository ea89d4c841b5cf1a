// SPDX-License-Identifier: BSL-1.0
// capture: runs a program under Valgrind with our tool, which writes its references.
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
    std::string file;                     // where the trace of the program will lie
    std::uint64_t from = 0;               // instructions at the start that are not captured
    std::uint64_t instructions = 0;       // captured at most; 0: all
    std::string sample;                   // BURST/PERIOD in instructions, or empty
    bool skips_start = false;             // what runs before main is not captured
    std::string window;                   // the function while which runs is captured, and nothing else; empty: all
    bool discards = false;                // nothing is written: to measure what capturing costs
    std::vector<std::string> simulators;  // these count inside the program, and no reference is written
    std::uint32_t access_bytes_max = 0;   // what they take longer accesses for; 0: whole
    bool with_system = false;             // what system calls read and wrote counts, too
    bool dies_with_capture = false;       // the program is killed with us
    std::string preload;                  // a library to preload into the program, or empty
    std::string calls;                    // a script of calls that is played in the program's place, or empty
    std::vector<std::string> command;
};

// Finds Valgrind and our tool. Throws failure, in one sentence: missing, of another version, not built.
void check_valgrind();

struct captured_run {
    ending end;
    capture_report report;
    std::string window;  // the symbol of its function
};

// Starts the command and waits for it. Throws failure: it never ran.
captured_run run(const capture_options& options);

}  // namespace millpond::references
