// SPDX-License-Identifier: BSL-1.0
// thread_clock: the CPU time that each thread of the recorded program had used at any moment, without the recorder's.
//
//   cpu ns   0 ── n ── c1 ── n ─── n ─ c2 ── c3       known at the end of each block and at each note (n),
//   ticks    start     block 1 ends    2     3        straight lines between
//
// The recorder's own time is estimated: the time measured in its timed operations, times operations / timed. A block
// counts at most twice the median block's time for each event, so that one preemption does not count 64 times. Use it
// for density and contention. at(): O(log blocks). Read-only after construction.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lab/characterise/cpu_notes.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

class thread_clock {
  public:
    struct stream_facts {
        std::uint32_t thread;
        std::uint64_t last_tick;          // of the stream's last event
        std::uint64_t operations, timed;  // of the whole stream
        std::vector<cpu_note> notes{};    // in the order of the stream
    };

    thread_clock(const std::vector<trace::block_record>& blocks, const std::vector<stream_facts>& streams,
                 std::uint64_t process_first_tick, double ticks_per_ns);

    // Returns the CPU ns of a thread at a time, without the recorder's share. 0 for an unknown thread.
    double at(std::uint32_t thread, std::uint64_t tick) const { return between(thread, tick, &point::ns); }
    // Returns the ns of the recorder on a thread up to a time.
    double recorder_at(std::uint32_t thread, std::uint64_t tick) const {
        return between(thread, tick, &point::recorder_ns);
    }
    double cpu_ns() const { return cpu_ns_; }            // of all threads together, at their ends
    double recorder_ns() const { return recorder_ns_; }  // subtracted time, all threads together

  private:
    struct point {
        std::uint64_t tick;
        double ns, recorder_ns;
    };

    void add_stream(const stream_facts& stream, std::vector<mpt_block_header>& headers,
                    std::uint64_t process_first_tick, double ticks_per_ns);
    double between(std::uint32_t thread, std::uint64_t tick, double point::* value) const;

    std::unordered_map<std::uint32_t, std::vector<point>> points_;
    double cpu_ns_ = 0, recorder_ns_ = 0;
};

}  // namespace millpond::characterise
