// SPDX-License-Identifier: BSL-1.0
// capture_words: turns a capture's notes and Valgrind's log into sentences for the user, each with what to do.
//
// Raw lines of Valgrind never reach the user. Unknown messages that ended a capture are kept in a file, which the
// sentence names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/references/capture_writer.hpp"
#include "lab/references/finishing.hpp"

namespace millpond::references {

struct capture_words {
    std::vector<std::string> notices;         // about other processes, and about harmless events
    std::optional<program::failure> problem;  // the capture of the program itself is incomplete
};

// `window`: its function, or empty. `file`: the log is kept next to it; empty: no log.
capture_words explain(const capture_report& report, const program_end& end, const std::string& window,
                      const std::string& file);

}  // namespace millpond::references
