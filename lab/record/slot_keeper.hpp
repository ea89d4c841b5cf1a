// SPDX-License-Identifier: BSL-1.0
// slot_keeper: makes the slot file of a recording, FILE.partial, and serves the recorders that write there.
//
//   slot_keeper kept(options) ─▶ FILE.partial with its slot 0
//   kept.serve()              ─▶ a thread keeps the file longer than its used part, for processes that cannot open it
//                                any more, and notes in it those that could not open it at all
//   ~slot_keeper()            the file stays, for the finishing pass
//
// While it lives, it holds a shared lock on the file, by which finish() knows of it. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

#include "lab/record/refusal_receiver.hpp"
#include "lab/record/supervisor.hpp"
#include "lab/trace/slot_file.h"

namespace millpond::record {

class slot_keeper {
  public:
    // Throws failure if FILE.partial exists, or cannot be written.
    explicit slot_keeper(const record_options& options);
    ~slot_keeper();
    slot_keeper(const slot_keeper&) = delete;
    slot_keeper& operator=(const slot_keeper&) = delete;

    // Starts the thread. It blocks all signals; they go to the thread that relays them.
    void serve();
    void note_root(pid_t root) const {
        if (shared_ != nullptr) shared_->root_pid = root;
    }
    // Removes the file that this object has made.
    void remove() const;
    const std::string& partial() const { return partial_; }
    // Null if the file could not be mapped.
    mpt_slot_file* shared() const { return shared_; }

  private:
    void keep(const std::stop_token& stop);

    const std::string partial_;
    refusal_receiver refusals_;
    int file_;
    mpt_slot_file* shared_ = nullptr;
    std::jthread thread_;
};

}  // namespace millpond::record
