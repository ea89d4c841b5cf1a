// SPDX-License-Identifier: BSL-1.0
// supervisor: one recording from outside: makes FILE.partial, starts the program under the recorder, waits for it, and
// finishes the trace of every process that was recorded.
//
//   FILE.partial/ ─▶ run() ─▶ PID.IMAGE.raw, PID.IMAGE.open … ─▶ finish() ─▶ FILE, FILE.PID, FILE.PID.IMAGE
//
// FILE appears only when it is whole. Where something of our own fails, FILE.partial stays, so nothing is lost:
// finish() can be called again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/measure/start_error.hpp"

namespace millpond::record {

struct record_options {
    std::string file;
    std::uint64_t bytes_max = 0;
    bool check_contexts = false;
    std::vector<std::string> command;
};

// How the program ended, as waitpid says it.
struct ending {
    int exit_status = 0;
    int signal = 0;
};

class supervisor {
  public:
    // `file`: where the root process' trace will lie.
    explicit supervisor(std::string file);

    // Starts the command and waits for it. An error means that it never ran.
    std::optional<measure::start_error> run(const record_options& options, ending& end);

    // Completes the traces of all processes that have ended. `end`: how the root process did, if known.
    // Returns the first thing that failed, or that was cut short (a full disk, the limit of bytes is none).
    std::optional<measure::start_error> finish(const std::optional<ending>& end);

  private:
    std::optional<measure::start_error> prepare(const record_options& options);
    void discard() noexcept;

    std::string file_, partial_;
};

}  // namespace millpond::record
