// SPDX-License-Identifier: BSL-1.0
// finishing: turns the files that captured processes left (FILE.partial.PID.IMAGE) into traces.
//
//   FILE.partial.PID.IMAGE: raw blocks, up to the last whole one
//     ──▶ compressed, build-ids of modules and the program's end added, index
//     ──▶ FILE (the process that was started), FILE.PID, FILE.PID.IMAGE
//
// Memory: one block. A trace appears only when it is complete; its partial file is then removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/references/capture_writer.hpp"

namespace millpond::references {

// The end of the program, as reported by waitpid.
struct program_end {
    std::uint64_t pid = 0;
    int exit_status = 0;
    int signal = 0;
};

struct finish_outcome {
    std::vector<std::string> notices;  // sentences for the user
    std::optional<program::failure> problem;
    std::vector<std::string> traces;  // the traces written
};

// Returns the beginning of the names of files that processes write while they run.
std::string partial_stem(const std::string& file);

// `end`: the end of the started process, if known. `mode`: permissions of the traces. `report`: what the writer
// reported about incomplete files. A trace is marked as stopped early if its process was killed. Throws failure if
// there is nothing to finish or the disk refuses.
finish_outcome finish(const std::string& file, const std::optional<program_end>& end, unsigned mode,
                      const capture_report& report);

}  // namespace millpond::references
