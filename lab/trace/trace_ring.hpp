// SPDX-License-Identifier: BSL-1.0
// trace_ring: keeps the last part of a sampled recording: drops blocks from before a cut while the program goes on.
//
//   FILE.partial   │ dropped │ dropped │ closed after the cut │ open block of a thread │
//                       └────┬────┘
//                            ▼ what the rest needs: blocks that are alive, the phase in force
//                  │ carried over │      `carried` of the process names it: one store, and the dropped slots are empty
//
// A sampled event is small, so memory and time are those of the dropped events. A slot is dropped if it has events only
// and was closed before the cut; a thread that seldom allocates keeps its older events in its open block. So the trace
// has every event from the cut on, and of earlier ones at least the allocations of the blocks that were alive then,
// with their own times, threads and contexts. Nothing is estimated: live bytes and lifetimes stay exact for the sample.
//
// Killed at any point, the file is as before the cut or as after it (slot_file.h). One cut at a time. Not thread-safe,
// but the recorded processes go on.
#pragma once

#include <cstdint>

#include "lab/trace/slot_reader.hpp"

namespace millpond::trace {

struct ring_cut {
    std::uint64_t dropped_slots = 0, dropped_events = 0, carried_events = 0;
};

// Drops what the process wrote before `tick`. Changes nothing if no whole slot is that old, if nothing can be written,
// or if the process forbids itself system calls (its slots serve again). O(dropped events, slots).
ring_cut drop_before(slot_reader& file, slot_process& process, std::uint64_t tick);

}  // namespace millpond::trace
