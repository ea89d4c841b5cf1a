// SPDX-License-Identifier: BSL-1.0
// finish: turns a recorded process's blocks in the slot file (sealed and open) into one compressed, indexed trace.
//
//   FILE.partial  the blocks of one process: rows, uncompressed
//     ──▶ every block checked, events recounted by decoding, rows turned into columns, zstd
//     ──▶ OUT: blocks │ end │ index │ trailer
//
// Use it once for each process, after that process has ended (or was killed). It runs outside the recorded program. On
// a full disk, blocks that have been written make room for the others: their slots are released, and the slot file
// records where they are now. After a kill finish() continues there. So a trace needs little more room than its slots.
// Memory: one block, and 160 bytes for each block of the trace. O(bytes). OUT appears whole or not at all: it is
// written to a file next to OUT, which is renamed; the slot file is left unchanged. A process that goes on in another
// stretch may still write one event into each open block: then no slot is released. Not thread-safe for one OUT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/slot_reader.hpp"

namespace millpond::trace {

// The content of the `end` block; see docs/reference/trace_format.md.
struct end_record {
    int exit_status = 0;
    int signal = 0;
    std::uint64_t end_ticks = 0, end_ns = 0;  // a clock pair, both zero if none was taken
    std::uint64_t events_lost = 0;
    bool clean = false;
    std::uint64_t stopped_early = 0;  // errno, or an mpt_stop
    std::string stop_reason{};        // a clause, if more than the errno is known
    std::uint64_t aliasing_sampled = 0, aliasing_differed = 0, aliasing_differed_deep = 0;
    std::uint64_t allocations_failed = 0;
};

// The facts about a trace that its process does not know.
struct trace_identity {
    std::uint64_t image = 0;      // number of the process image among those of its pid
    std::uint64_t recording = 0;  // the recording that it belongs to
    unsigned mode = 0600;         // permissions of OUT
};

struct finish_result {
    std::uint64_t events = 0, blocks = 0, stored_bytes = 0;
    std::vector<damage> damages;  // offsets in the slot file
};

// Throws trace_error if the process has left no block, std::system_error if OUT cannot be written; OUT is then
// unchanged. `goes_on`: the process records in another stretch.
finish_result finish(const slot_reader& from, const slot_process& process, const std::string& out,
                     const trace_identity& identity, const end_record& end, bool goes_on = false);

}  // namespace millpond::trace
