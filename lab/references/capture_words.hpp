// SPDX-License-Identifier: BSL-1.0
// capture_words: what a capture's notes and Valgrind's log mean for the user: one sentence each, with what to do.
//
// Raw lines of Valgrind never reach the user. Those that ended a capture and are not known are kept in a file that the
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
    std::vector<std::string> notices;         // of other processes, and of what did no harm
    std::optional<program::failure> problem;  // of the program itself: its capture is not what was asked for
};

// `window`: its function, or empty. `file`: next to which a log is kept, or empty.
capture_words explain(const capture_report& report, const ending& end, const std::string& window,
                      const std::string& file);

}  // namespace millpond::references
