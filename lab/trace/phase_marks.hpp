// SPDX-License-Identifier: BSL-1.0
// phase_marks: finds the marks among a trace's notes where phases of the process begin.
//
//   notes of a stream   name │ name │ phase ──▶ "a name of up to 255 bytes"
//
// Use it behind reader::for_each_batch, whose order is that of the phases. Of a damaged name, the rest is left.
// O(bytes of the name). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "lab/trace/reader.hpp"

namespace millpond::trace {

class phase_marks {
  public:
    // Takes the next note. Returns true if a phase begins there, which has name(); without a name, only the last one
    // ends.
    bool take(const event& note) {
        if (note.bytes == mpt_note_name) {
            std::string& coming = coming_[note.thread];
            for (unsigned i = 0; i < 8 && coming.size() < mpt_phase_name_max; ++i)
                coming += static_cast<char>(note.address >> 8 * i);
            return false;
        }
        if (note.bytes != mpt_note_phase) return false;
        name_.swap(coming_[note.thread]);
        coming_.erase(note.thread);
        if (note.address < name_.size()) name_.resize(note.address);
        return true;
    }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    std::unordered_map<std::uint32_t, std::string> coming_;  // by stream: names whose phases have not begun
    std::string name_;
};

}  // namespace millpond::trace
