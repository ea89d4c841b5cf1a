// SPDX-License-Identifier: BSL-1.0
// outside_stream: notes that millpond-record adds to the trace of a process while that runs, as a stream of their own.
//
//   note() ─▶ block in memory ─(full, or flush)▶ sealed, in a new slot of FILE.partial that belongs to the process
//
// The process needs no thread for it and does not notice. Create one for each group of notes: it continues the blocks
// of the former ones. Memory: one slot. O(blocks of the process) to create. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/trace/slot_file.h"
#include "lab/trace/slot_reader.hpp"
#include "lab/trace/writer.h"

namespace millpond::record {

class outside_stream {
  public:
    // `shared`: the first page of the file at `partial`, which `from` has read; `tick`: the time of the notes.
    outside_stream(std::string partial, mpt_slot_file& shared, const trace::slot_reader& from,
                   const trace::slot_process& process, std::uint64_t tick);

    // Throws std::system_error if a full block cannot be written.
    void note(unsigned subject, std::uint64_t value);
    // Writes the notes so far. Throws std::system_error.
    void flush();

  private:
    void open_block();

    const std::string partial_;
    mpt_slot_file& shared_;
    const std::uint64_t process_, tick_;
    std::uint32_t sequence_ = 0;
    std::vector<std::uint8_t> slot_;
    mpt_writer writer_{};
};

}  // namespace millpond::record
