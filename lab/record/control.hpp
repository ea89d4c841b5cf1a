// SPDX-License-Identifier: BSL-1.0
// control: starts and stops what a recording that sleeps writes, while its program runs.
//
//   ask(PID, "stop") ──RUN/PID──▶ control_server ─▶ turn in FILE.partial ─▶ every process, at its next event
//                    ◀── reply ──                └▶ finish_stretches ─▶ server-1.mpt
//
// The supervisor serves the socket, so the program has no thread, descriptor or signal handler of ours. PID is the
// program's; its children sleep and wake with it. RUN is a folder that only its user may enter:
// $XDG_RUNTIME_DIR/millpond, or /tmp/millpond-UID without that variable. The kernel tells who asks, and another user is
// refused.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

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
    control_reply end_stretch(bool goes_on);

    const std::string file_;
    int run_ = -1, listener_ = -1, woken_ = -1;
    std::string name_;  // of the socket, in RUN
    mpt_slot_file* shared_ = nullptr;
    std::jthread thread_;
};

// Sends a request (start, stop or snapshot) to the recording of that program. Throws failure if that is not recorded.
control_reply ask(pid_t root, const std::string& request);

}  // namespace millpond::record
