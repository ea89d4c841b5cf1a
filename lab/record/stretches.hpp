// SPDX-License-Identifier: BSL-1.0
// stretches: the parts of a recording that sleeps and wakes, each from a start to a stop: their names and their ends.
//
//   turn 2: start ─ events ─ stop ─▶ settle() ─▶ finishing ─▶ server-1.mpt        FILE is server.mpt
//
// A stretch ends while its threads run. They notice it at their next event, so settle() waits until nothing is written
// there any more: what is there then is what a kill would have left, and the finishing pass takes that.
#pragma once

#include <cstdint>
#include <string>

#include "lab/trace/slot_file.h"

namespace millpond::record {

// Returns the name of the trace of the n-th stretch: server-1.mpt for server.mpt.
std::string stretch_file(const std::string& file, std::uint64_t number);

// The notice about a stretch in which nothing was recorded.
std::string why_no_trace(const mpt_slot_file& shared);

// Waits until nothing has been written into ended stretches for 10 ms. A thread that is still inside an event after a
// second writes it too late for the trace. Throws as slot_reader.
void settle(const std::string& partial);

// Puts a recording to sleep for good, so that it can be finished. Returns whether it was awake. Throws failure if its
// recorder lives: that would be left with a file that has no name.
bool end_last_stretch(const std::string& partial);

}  // namespace millpond::record
