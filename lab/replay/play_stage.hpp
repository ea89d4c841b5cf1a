// SPDX-License-Identifier: BSL-1.0
// play_stage: runs a round in a process that has done nothing before.
//
//   --play …  ─▶ command line read, checked ─▶ exec ourselves ─▶ the malloc under test is there, and nothing of ours
//                                              (LD_PRELOAD, MILLPOND_PAD)   has called it ─▶ play() ─▶ result as JSON
//
// start() does the left half and never returns. main() calls run() first if it finds the second kind of command line.
#pragma once

#include <cstddef>
#include <string>

#include "lab/replay/play.hpp"

namespace millpond::replay {

struct stage_request {
    std::string script, strategy = "recorded", malloc_library, order = "total", touch = "line", result;
    unsigned diffusion = 0;
    bool paced = false;
    std::size_t padding_bytes = 0;
};

// The first word of a command line for run().
inline constexpr const char* stage_word = "--in-this-process";

// Throws failure: a strategy that does not exist (2), a library that is not there (3), a file that cannot be written
// (4).
[[noreturn]] void start(const stage_request& request);

// `arguments`: argv behind stage_word, made by start(). Returns the exit status. Throws failure.
int run(char** arguments);

}  // namespace millpond::replay
