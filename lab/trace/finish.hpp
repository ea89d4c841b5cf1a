// SPDX-License-Identifier: BSL-1.0
// finish: turns what a recorded process left behind (closed blocks, open blocks) into one compressed, indexed trace.
//
//   PID.IMAGE.raw   closed blocks, rows, uncompressed ─┐  every block checked, events recounted by decoding,
//   PID.IMAGE.open  each thread's open block          ─┴─▶ rows turned into columns, zstd ─▶ OUT: blocks │ end │ index
//   │ trailer
//
// Use it once for each process image, after that image has ended (or was killed). It runs outside the recorded program.
// Memory: one block, and 48 bytes for each block of the trace. O(bytes). OUT appears whole or not at all: it is written
// under a temporary name beside OUT and renamed; the raw and open files are left for the caller to remove.
// Not thread-safe for one OUT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reader.hpp"

namespace millpond::trace {

// What the `end` block says; see docs/trace_format.md.
struct end_record {
    int exit_status = 0;
    int signal = 0;
    std::uint64_t end_ticks = 0, end_ns = 0;  // a clock pair, both zero if none was taken
    std::uint64_t events_lost = 0;
    bool clean = false;
    std::uint64_t stopped_early = 0;  // errno, or 1 for a limit of bytes
    std::uint64_t aliasing_sampled = 0, aliasing_differed = 0, aliasing_differed_deep = 0;
    std::uint64_t allocations_failed = 0;
};

struct finish_result {
    std::uint64_t events = 0, blocks = 0, stored_bytes = 0;
    std::vector<damage> damages;  // offsets are of the raw file, or (where the text says so) of the open file
};

// Either file may be missing or empty (`open` may be ""), but not both. Throws trace_error where neither holds anything
// that can be read, std::system_error where OUT cannot be written; OUT is then as it was before.
finish_result finish(const std::string& raw, const std::string& open, const std::string& out, const end_record& end);

}  // namespace millpond::trace
