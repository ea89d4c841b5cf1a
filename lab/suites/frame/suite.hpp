// SPDX-License-Identifier: BSL-1.0
// suite: a program of benchmarks: one point by one contender, one round in a fresh process.
//
//   arguments ──▶ point ──▶ littering ──▶ prepare ──▶ workload::run ──▶ one line of JSON, millpond.suite/2
//
// README.md here has the command line and the JSON. Whoever runs it interleaves rounds and judges.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "contender.hpp"
#include "lab/measure/littering.hpp"
#include "workload.hpp"

namespace millpond::frame {

// The contender that stands for a library of the user's: --peer.
struct foreign_peer {
    std::string_view contender;
    void (*load)(const char* library);  // Throws: program::failure, which says what is wrong with it
    const char* (*name)();
    const char* (*version)();
};

// What a suite leaves out it does not have: the options that need it are refused.
struct suite {
    std::string_view name;
    std::string_view of;  // what the usage says that it is
    std::span<const workload* const> workloads;
    std::span<const contender> (*contenders)();
    // Effects: runs the point once on the process's heap, and notes every block that it asks for. Suites that measure
    // a window have it; the others measure in passes.
    void (*note_blocks)(const point&, measure::heap_litter&) = nullptr;
    // Effects: what has to be before the run of a point. After the heap was littered.
    void (*prepare)(const point&) = nullptr;
    // Effects: peers take their chunks from our cache from now on. Before the first pool is built.
    void (*keep_chunks)() = nullptr;
    std::uint64_t (*kept_bytes)() = nullptr;  // in that cache
    const foreign_peer* peer = nullptr;

    [[nodiscard]] constexpr bool measures_windows() const noexcept { return note_blocks != nullptr; }
};

// Runs what the command line asks for. Returns: the exit status.
int run_suite(const suite& of, int argc, char** argv);

}  // namespace millpond::frame
