// SPDX-License-Identifier: BSL-1.0
// recording_source: reads the references of a Millpond recording (`trace record --with references`), batch by batch.
//
//   trace ─▶ references::reader ─▶ next(): │ references, instructions │ … │
//   trace, played ─▶ layout::moved_reader ─▶ the same, as they would be on another allocator
//
// References of the allocator and of system calls carry their origin. Memory: one block and one batch. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lab/layout/moved_reader.hpp"
#include "lab/references/reader.hpp"
#include "lab/simulate/reference_source.hpp"

namespace millpond::simulate {

// Returns whether the file at `path` begins or ends as a trace does. False if it cannot be read.
bool is_recording(const std::string& path);

class recording_source final : public reference_source {
  public:
    // `with_system`: also count what system calls read and wrote. `played`: the player's recording on another
    // allocator, or empty. Throws trace::trace_error if nothing can be read, or if the trace has no references.
    recording_source(const std::string& path, bool with_system, const std::string& played = {});

    const char* format_name() const override;
    bool next(reference_batch& batch) override;
    std::optional<layout::moved_totals> moved() const override {
        return moved_ ? std::optional(moved_->totals()) : std::nullopt;
    }
    std::vector<trace::damage> damages(bool accepts) const override;
    std::string partial() const override;

  private:
    std::string path_;
    std::unique_ptr<references::reader> reader_;  // one of the two is set
    std::unique_ptr<layout::moved_reader> moved_;
};

}  // namespace millpond::simulate
