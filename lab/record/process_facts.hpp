// SPDX-License-Identifier: BSL-1.0
// process_facts: what a recorded process has left in FILE.partial about itself, and what of it the user should know.
//
// Used by the finishing pass. Damaged parts are left out. O(blocks of the process). Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/record/supervisor.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/reader.hpp"
#include "lab/trace/slot_reader.hpp"

namespace millpond::record {

// Returns the reason why a process stopped recording (mpt_stop, errno), with a remedy.
std::string reason(std::uint32_t why);
// Returns how many events were lost while the process continued to record, why, and a remedy. Empty if none were lost.
std::string losses(const mpt_slot_process& facts);
// Returns what to do about a process that could not open FILE.partial: a clause, or nothing.
std::string remedy(std::uint32_t error);

// Returns the end of its trace, as of now. `end`: how the process ended, if that is known. `goes_on`: it has left its
// stretch, and may still run.
trace::end_record describe_end(const mpt_slot_process& facts, const std::optional<process_end>& end, bool goes_on);

// Returns the path of its executable, or "?".
std::string executable_of(const trace::slot_reader& from, const trace::slot_process& process);
// Returns the modules that the process has described.
std::vector<trace::module_record> modules_of(const trace::slot_reader& from, const trace::slot_process& process);
// Returns why the calls of a malloc in this module are missing, if it cannot be replaced; else empty.
std::string unseen_malloc(const std::string& module);

}  // namespace millpond::record
