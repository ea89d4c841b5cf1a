// SPDX-License-Identifier: BSL-1.0
// suite: a program of benchmarks; it runs one point with one contender, one round in a fresh process.
//
//   arguments ──▶ point ──▶ littering ──▶ prepare ──▶ workload::run ──▶ one line of JSON, millpond.suite/2
//
// README.md here has the command line and the JSON. The caller interleaves rounds and judges the results.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "contender.hpp"
#include "lab/measure/heap_litter.hpp"
#include "workload.hpp"

namespace millpond::frame {

// The contender that stands for a library given by the user (--peer).
struct foreign_peer {
    std::string_view contender;
    void (*load)(const char* library);  // Throws: program::failure, which says what is wrong with the library
    const char* (*name)();
    const char* (*version)();
};

// The parts of a suite. Options that need a part which is left out are refused.
struct suite {
    std::string_view name;
    std::string_view of;  // the description in the usage text
    std::span<const workload* const> workloads;
    std::span<const contender> (*contenders)();
    // Effects: runs the point once on the process's heap, and notes every block that it asks for. Only suites that
    // measure a window have it; the others measure in passes.
    void (*note_blocks)(const point&, measure::heap_litter&) = nullptr;
    // Effects: prepares the run of a point, after the heap was littered.
    void (*prepare)(const point&) = nullptr;
    // Effects: lets peers take their chunks from Millpond's cache from now on. Call it before the first pool is built.
    void (*keep_chunks)() = nullptr;
    std::uint64_t (*kept_bytes)() = nullptr;  // in that cache
    const foreign_peer* peer = nullptr;

    [[nodiscard]] constexpr bool measures_windows() const noexcept { return note_blocks != nullptr; }
};

// Runs the command line. Returns: the exit status.
int run_suite(const suite& of, int argc, char** argv);

}  // namespace millpond::frame
