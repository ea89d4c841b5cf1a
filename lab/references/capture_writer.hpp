// SPDX-License-Identifier: BSL-1.0
// capture_writer: a separate process that writes the traces which captured processes send, and keeps their notes.
//
//   captured processes ──channel.h──▶ writer ─▶ STEM.PID.IMAGE
//                                       └──report, when the program has ended──▶ settle()
//
// It lives longer than this process if the program leaves processes behind, and ends with the last of them. The limits,
// root folder, user and descriptors of the program do not affect it. Create it while this process is small, before the
// program starts. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::references {

// A note for the user: its word (channel.h), then its fields.
struct capture_note {
    std::uint32_t pid = 0;
    std::vector<std::string> fields;
};

struct capture_report {
    std::vector<capture_note> notes;
    std::string log;                  // Valgrind's, its first 64 KiB
    int error = 0;                    // errno: why a trace could not be completed
    std::vector<std::string> failed;  // the files that could not be completed
};

class capture_writer {
  public:
    // Starts the process. Throws failure if no process or socket can be made. `stem`: empty to write nothing.
    explicit capture_writer(const std::string& stem);
    ~capture_writer();
    capture_writer(const capture_writer&) = delete;
    capture_writer& operator=(const capture_writer&) = delete;

    // Returns the descriptor that the program inherits; it stays open in an exec until inherited().
    int descriptor() const { return channel_; }
    void inherited();
    // Call after the program has ended: returns when everything it sent is written. A killed writer reports nothing.
    capture_report settle();

  private:
    int channel_ = -1, report_ = -1;
};

}  // namespace millpond::references
