// SPDX-License-Identifier: BSL-1.0
// ring_keeper: cuts the older part off a recording that keeps the last minutes only, while its programs run.
//
//   each sixteenth of the ring, 50 ms to 1 min ─▶ of each process: trace::drop_before(now − ring)
//
// So the file has at most 17/16 of the ring, and what was alive before it. A round that fails (a full disk) changes
// nothing, and the next one tries again. It needs no help of the recorded processes; without it, or after a kill of
// millpond-record, the file only grows. A thread of its own.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

namespace millpond::record {

class ring_keeper {
  public:
    // `partial`: the recording's file, whose first slot has the length of the ring.
    explicit ring_keeper(std::string partial);
    // Ends after a last round.
    ~ring_keeper();
    ring_keeper(const ring_keeper&) = delete;
    ring_keeper& operator=(const ring_keeper&) = delete;

  private:
    // Returns the time until the next round.
    std::chrono::nanoseconds cut() const;
    void keep(const std::stop_token& stop) const;

    const std::string partial_;
    std::jthread thread_;
};

}  // namespace millpond::record
