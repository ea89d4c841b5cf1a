// SPDX-License-Identifier: BSL-1.0
// finish: writes the traces of all processes of a recording that have ended.
//
//   FILE.partial ─▶ FILE (root), FILE.PID, FILE.PID.IMAGE (after an exec), and a notice for each process that has none
//
// A trace appears only when it is whole. FILE.partial stays until all traces are whole, so that nothing is lost and
// finish() can be called again, which is necessary if a process outlives the root. FILE and the other traces of its
// former recording are replaced; any other file with such a name stays, and the trace takes the next free name.
//
// A recording that sleeps and wakes has one trace set for each stretch (stretches.hpp), and the processes go on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/record/supervisor.hpp"

namespace millpond::record {

struct finish_outcome {
    // The stretches' traces that were written, by stretch_file's names.
    std::vector<std::string> stretches;
    // One notice for each process that was not recorded, or not to its end, and for each name that was taken.
    std::vector<std::string> notices;
    // The reason why the root's trace, or the recording, is not complete.
    std::optional<program::failure> problem;
};

// `end`: how the root process ended, if known. Throws failure if no trace can be finished.
finish_outcome finish(const std::string& file, const std::optional<process_end>& end);

// Writes the traces of the stretches that have ended, while the program goes on. Throws failure as finish().
finish_outcome finish_stretches(const std::string& file);

}  // namespace millpond::record
