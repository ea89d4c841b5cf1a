// SPDX-License-Identifier: BSL-1.0
// outside_marks: phases of recorded processes that are marked from outside, by `millpond trace control PID mark NAME`.
//
//   mark("load") ─▶ a slot with one sealed block, for each process that runs ─▶ a stream of its own in its trace
//
// The program does nothing: its events and the mark meet when the trace is read, in order by time. That order is exact
// in a process that has had several threads. In another one, 15 of 16 events have no time of their own, so up to 15
// events behind the mark may count as before it.
//
// A process that runs, but has not allocated since its stretch began, has no trace to mark yet: its mark waits until
// settle(). If the recorder is killed before, that mark is lost. O(processes of the machine). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/slot_file.h"
#include "lab/trace/slot_reader.hpp"

namespace millpond::record {

class outside_marks {
  public:
    // `shared`: the first page of the recording's file at `partial`; must outlive this object.
    outside_marks(std::string partial, mpt_slot_file& shared) : partial_(std::move(partial)), shared_(shared) {}

    // Begins a phase now in each process that is recorded and runs; an empty name ends the last one. Name: as in
    // millpond/phase.h. Throws failure if no process runs, or the recording has reached its limit;
    // std::system_error if the file cannot be written.
    void mark(std::string name);
    // Writes the marks that wait, into the processes that have allocated since. Call when a stretch has ended, before
    // its traces are made. Throws std::system_error.
    void settle();

  private:
    struct waiting_mark {
        std::uint32_t turn;
        std::uint64_t tick;
        std::string name;
        std::uint64_t pid;  // as the process sees itself
    };

    void write(const trace::slot_reader& from, const trace::slot_process& process, const waiting_mark& one);

    const std::string partial_;
    mpt_slot_file& shared_;
    std::vector<waiting_mark> waiting_;
};

}  // namespace millpond::record
