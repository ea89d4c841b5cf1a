// SPDX-License-Identifier: BSL-1.0
// control: reaches a recording while its program runs: marks phases; starts and stops one that sleeps.
//
//   ask(PID, "stop") ──RUN/PID──▶ control_server ─┬▶ turn in FILE.partial ─▶ every process, at its next event
//                    ◀── reply ──                 ├▶ finish_stretches ─▶ server-1.mpt
//   ask(PID, "mark load")                         └▶ outside_marks ─▶ a mark in each process that is recorded
//
// The supervisor serves the socket, so the program has no thread, descriptor or signal handler of ours. PID is the
// program's; its children sleep and wake with it. RUN is a folder that only its user may enter:
// $XDG_RUNTIME_DIR/millpond, or /tmp/millpond-UID without that variable. The kernel tells who asks, and another user is
// refused.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <thread>

#include "lab/record/outside_marks.hpp"
#include "lab/trace/slot_file.h"

namespace millpond::record {

struct control_reply {
    int status = 0;       // an exit status
    std::string files;    // the traces written, one a line
    std::string notices;  // one a line
};

class control_server {
  public:
    // Makes RUN and a socket in it. Throws failure if another user could reach it, or it cannot be made.
    explicit control_server(std::string file);
    // Writes the marks that wait; an error ends only them.
    ~control_server();
    control_server(const control_server&) = delete;
    control_server& operator=(const control_server&) = delete;

    // Names the socket after the program, and serves it. `shared` must outlive this object.
    void serve(pid_t root, mpt_slot_file& shared);

  private:
    void serve_until(const std::stop_token& stop);
    void serve_one(int client);
    control_reply carry_out(const std::string& request);
    control_reply start();
    control_reply mark(const std::string& name);
    control_reply end_stretch(bool goes_on);
    std::uint32_t turn_of_stretch() const;  // throws failure if it sleeps

    const std::string file_;
    int run_ = -1, listener_ = -1, woken_ = -1;
    std::string name_;  // of the socket, in RUN
    mpt_slot_file* shared_ = nullptr;
    std::optional<outside_marks> marks_;
    std::jthread thread_;
};

// Sends a request ("start", "stop", "snapshot" or "mark NAME") to the recording of that program. Throws failure if that is not recorded.
control_reply ask(pid_t root, const std::string& request);

}  // namespace millpond::record
