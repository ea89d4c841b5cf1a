// SPDX-License-Identifier: BSL-1.0
// wholeness: checks whether a trace covers the whole run, and refuses or reports traces that do not.
//
//   damages ──▶ require_whole ──▶ refused, status 3: one sentence with the first place
//                            └─ accepted (--damaged): the same sentence on standard error, and the verb goes on
//   process ──▶ partial_reason ──▶ "" or why the trace ends before its program
//
// Use both in every program that computes a result from a trace, after the last block is read and before anything is
// written, because damages are found when blocks are read. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::trace {

// The option of every such program, and its help text.
inline constexpr const char* damaged_option = "--damaged";
inline constexpr const char* damaged_help =
    "use the readable part of a damaged trace; without this option it is refused";

// Returns `FILE is damaged at offset 90: the block's checksum does not hold (2 places in all)`; empty if it is whole.
std::string damage_text(const std::string& path, const std::vector<damage>& damages);

// Throws trace_error if there are damages and `accepts` is false; reports them on standard error if it is true.
void require_whole(const std::string& path, const std::vector<damage>& damages, bool accepts);

// Returns why the trace ends before its program did, or why its program was cut off; empty if the trace has the end.
std::string partial_reason(const process_record& process);
// Returns whether events may be missing after the last one, so that objects alive then may have been freed.
bool is_cut(const process_record& process);

}  // namespace millpond::trace
