// SPDX-License-Identifier: BSL-1.0
// cpu_notes: the CPU time that a recorder noted on one thread, thinned so that a long run keeps few of them.
//
//   note  ─▶ kept while at least `spacing` ns of CPU lie between two ─▶ full: every second one goes, spacing doubles
//
// Use it for thread_clock. add: O(1) amortised. At most `notes_max` notes, 96 KiB. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace millpond::characterise {

// `records`: the number of events and notes of the stream before this one.
struct cpu_note {
    std::uint64_t tick, cpu_ns, records;
};

class cpu_notes {
  public:
    static constexpr std::size_t notes_max = 4096;

    // Notes come in the order of their stream. The latest one is always kept.
    void add(const cpu_note& note) {
        if (kept_.size() >= 2 && note.cpu_ns - kept_[kept_.size() - 2].cpu_ns < spacing_ns_) {
            kept_.back() = note;
            return;
        }
        if (kept_.size() == notes_max) thin();
        kept_.push_back(note);
    }

    const std::vector<cpu_note>& all() const { return kept_; }

  private:
    void thin() {
        for (std::size_t i = 0; i < notes_max / 2; ++i) kept_[i] = kept_[2 * i + 1];
        kept_.resize(notes_max / 2);
        spacing_ns_ = spacing_ns_ == 0 ? 1'000'000 : 2 * spacing_ns_;
    }

    std::vector<cpu_note> kept_;
    std::uint64_t spacing_ns_ = 0;
};

}  // namespace millpond::characterise
