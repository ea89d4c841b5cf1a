// SPDX-License-Identifier: BSL-1.0
// finishing: turns what captured processes left in FILE.partial.PID.IMAGE into traces.
//
//   FILE.partial.PID.IMAGE: raw blocks, up to the last whole one
//     ──▶ compressed, build-ids of modules and the program's end added, index
//     ──▶ FILE (the process that was started), FILE.PID, FILE.PID.IMAGE
//
// Memory: one block. A trace appears whole or not at all; a partial file goes when its trace is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/references/capture_writer.hpp"

namespace millpond::references {

// How the program ended, as waitpid says it.
struct ending {
    std::uint64_t pid = 0;
    int exit_status = 0;
    int signal = 0;
};

struct finish_outcome {
    std::vector<std::string> notices;  // sentences for the user
    std::optional<program::failure> problem;
    std::vector<std::string> traces;  // that were written
};

// What processes write while they run begins with this name.
std::string partial_stem(const std::string& file);

// `end`: of the process that was started, where it is known. `mode`: permissions of the traces. `report`: what was said
// of files that are not whole. A trace whose process did not see its end is marked as stopped early. Throws failure:
// there is nothing to finish, or the disk refuses.
finish_outcome finish(const std::string& file, const std::optional<ending>& end, unsigned mode,
                      const capture_report& report);

}  // namespace millpond::references
