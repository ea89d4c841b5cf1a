// SPDX-License-Identifier: BSL-1.0
// wholeness: whether what a trace says is what its whole run did, and what becomes of one that is not whole.
//
//   damages ──▶ require_whole ──▶ refused, status 3: one sentence with the first place
//                            └─ accepted (--damaged): the same sentence on standard error, and the verb goes on
//   process ──▶ partial_reason ──▶ "" or why the trace ends before its program
//
// Use both in every program that makes a result of a trace, behind the last block that is read and before anything is
// written: damages are found where blocks are read. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::trace {

// The option that every such program has, and what it says of itself.
inline constexpr const char* damaged_option = "--damaged";
inline constexpr const char* damaged_help = "go on with what is left of a damaged trace; without it that is refused";

// `FILE is damaged at offset 90: the block's checksum does not hold (2 places in all)`; empty where it is whole.
std::string damage_text(const std::string& path, const std::vector<damage>& damages);

// Throws trace_error where there are damages and `accepts` is false; says them on standard error where it is true.
void require_whole(const std::string& path, const std::vector<damage>& damages, bool accepts);

// Why the trace ends before its program did, or why its program was cut off; empty where the end was seen.
std::string partial_reason(const process_record& process);
// Whether events are missing behind the last one of the trace, so that what was alive then may have been freed.
bool is_cut(const process_record& process);

}  // namespace millpond::trace
