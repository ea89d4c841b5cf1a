// SPDX-License-Identifier: BSL-1.0
// phase_search: finds the phases of a trace: its marks, or else where its events change.
//
//   events ─▶ up to 512 slices of equally many events ─▶ for each: the mix of its events, and the growth of live bytes
//                                                     ─▶ change_points ─▶ the first event of each phase
//
// A slice has one value for each kind of event (a birth or an end of an object of one subsystem): the square root of
// the kind's share of the slice's events, so that two slices are as far apart as their mixes are by Hellinger's
// distance. Kinds beyond the most frequent ones share a value. One more value is the growth of live bytes: half of
// (bytes allocated − bytes freed) / (bytes allocated + bytes freed), which is constant where live bytes stay, grow
// or shrink steadily. So a phase is a stretch in which mix and growth are constant or drift steadily.
//
// The shortest phase that is found has a fiftieth of the events. The least penalty is the gain of such a phase if a
// quarter of its events are of a kind that its neighbour lacks. Neither depends on a trace. Cycles shorter than a slice
// are invisible, those shorter than the shortest phase count as noise; a longer cycle has a phase for each part.
//
// event_counts reports the events to it. O(1) and a few nanoseconds an event; finish: some milliseconds. Memory
// grows with the kinds of events in each slice. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millpond::characterise {

struct phase_boundaries {
    bool are_marked = false;  // the trace has marks; then phases are not searched for
    // The number of events before each phase that was found but the first, without notes. Empty: one phase.
    std::vector<std::uint64_t> boundaries{};
};

class phase_search {
  public:
    static constexpr std::size_t slices_max = 512, slices_min = 100, slice_events_min = 32;
    static constexpr std::size_t shortest_phase = 50;  // a phase has at least 1 / shortest_phase of the events

    // `events`: the approximate number of events of the trace.
    phase_search(std::size_t subsystems, std::uint64_t events);

    // An event begins or ends an object of the subsystem, or ends one from before the trace.
    void began(std::uint32_t subsystem, std::uint64_t bytes) {
        allocated_bytes_ += bytes;
        add(2 * subsystem);
    }
    void ended(std::uint32_t subsystem, std::uint64_t bytes) {
        freed_bytes_ += bytes;
        add(2 * subsystem + 1);
    }
    void ended_unknown() { add(static_cast<std::uint32_t>(events_of_.size() - 1)); }
    // A mark of the program begins a phase.
    void marked() { are_marked_ = true; }
    // Call after the last event. No phase is found in a trace with fewer than slices_min slices.
    [[nodiscard]] phase_boundaries finish();

  private:
    // The kinds of events are numbered: births of subsystem s are 2 · s, ends 2 · s + 1, other ends come last.
    struct kind_count {
        std::uint32_t kind, events;
    };
    struct slice {
        std::vector<kind_count> kinds;
        double growth;
    };

    void add(std::uint32_t kind) {
        if (events_of_[kind]++ == 0) kinds_.push_back(kind);
        if (++events_ == slice_events_) end_slice();
    }
    void end_slice();

    std::uint64_t slice_events_;
    std::vector<slice> slices_;
    std::vector<std::uint32_t> events_of_;                              // by kind, of the current slice
    std::vector<std::uint32_t> kinds_;                                  // those with events in it
    std::uint64_t events_ = 0, allocated_bytes_ = 0, freed_bytes_ = 0;  // of the current slice
    bool are_marked_ = false;
};

}  // namespace millpond::characterise
