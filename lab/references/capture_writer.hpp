// SPDX-License-Identifier: BSL-1.0
// capture_writer: a process of its own that writes the traces which captured processes send, and keeps what they say.
//
//   captured processes ──channel.h──▶ writer ─▶ STEM.PID.IMAGE
//                                       └──report, when the program has ended──▶ settle()
//
// It outlives us where the program leaves processes behind, and ends with the last of them. Limits, root folder, user
// and the descriptors of the program do not concern it. Make one while this process is small, before the program
// is started. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::references {

// A sentence's parts: the word of the note (channel.h), then its fields.
struct capture_note {
    std::uint32_t pid = 0;
    std::vector<std::string> fields;
};

struct capture_report {
    std::vector<capture_note> notes;
    std::string log;                  // of Valgrind: its first 64 KiB
    int error = 0;                    // errno: why a trace could not be written to its end
    std::vector<std::string> failed;  // the files of which that holds
};

class capture_writer {
  public:
    // Throws failure where no process or socket can be made. `stem`: empty where nothing is to be written.
    explicit capture_writer(const std::string& stem);
    ~capture_writer();
    capture_writer(const capture_writer&) = delete;
    capture_writer& operator=(const capture_writer&) = delete;

    // What the program inherits; it stays open in an exec until inherited().
    int descriptor() const { return channel_; }
    void inherited();
    // After the program has ended: all that it has sent is written. A writer that was killed reports nothing.
    capture_report settle();

  private:
    int channel_ = -1, report_ = -1;
};

}  // namespace millpond::references
