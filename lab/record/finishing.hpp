// SPDX-License-Identifier: BSL-1.0
// finishing: writes the traces of all processes of a recording that have ended.
//
//   FILE.partial ─▶ FILE (root), FILE.PID, FILE.PID.IMAGE (after an exec), and a notice for each process that has none
//
// A trace appears only when it is whole; FILE.partial stays until all are, so that nothing is lost and finish() can be
// called again, as it must be where a process outlives the root. Replaced are FILE and the traces of the recording to
// which the former FILE belonged; any other file that has such a name stays, and the trace takes the next free name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/record/supervisor.hpp"

namespace millpond::record {

struct finish_outcome {
    // One for each process that was not recorded, or not to its end, and for each name that was taken.
    std::vector<std::string> notices;
    // What is not complete: the root's trace, or the recording.
    std::optional<program::failure> problem;
};

// `end`: how the root process ended, if known. Throws failure where nothing can be finished.
finish_outcome finish(const std::string& file, const std::optional<process_end>& end);

}  // namespace millpond::record
