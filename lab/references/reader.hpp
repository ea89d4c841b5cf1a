// SPDX-License-Identifier: BSL-1.0
// reader: reads every reference of a captured process, in the order in which they happened.
//
//   trace ─▶ blocks ─▶ decoder ─▶ words ─▶ expansion ─▶ next(): │ references … │ heap event │ references … │
//
// Memory: one block, the table of the program's code and a batch; independent of the length of the run. A damaged block
// is left out and listed in damages(). Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/references/reference.h"
#include "lab/references/stream.h"
#include "lab/trace/reader.hpp"

namespace millpond::references {

struct reader_options {
    bool with_system = true;  // include what system calls read and write
};

// A record that follows the references of a step.
struct stream_event {
    millpond_record record = millpond_record_none;  // none: no record
    std::uint64_t operands[4] = {};                 // as in stream.h
};

// A run of references, and the event that ends it.
struct step {
    std::span<const millpond_reference> references;  // valid until the next call
    std::uint64_t instructions = 0;                  // executed with these references
    std::uint64_t thread = 0;                        // the thread that ran
    bool in_allocator = false;                       // true if they are the allocator's
    stream_event event;
};

// The totals in the headers of all blocks.
struct reference_totals {
    std::uint64_t references = 0;  // without those of system calls
    std::uint64_t instructions = 0;
    std::uint64_t words = 0;
    std::uint64_t stored_bytes = 0;  // in blocks of references and of superblocks
};

class reader {
  public:
    // Throws trace_error if nothing can be read, or if the trace has no references.
    explicit reader(const std::string& path, const reader_options& options = {});
    ~reader();
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    // Returns process, modules and contexts.
    const trace::reader& trace() const;
    const millpond_table& code() const;
    // Reads the next step; returns false at the end. A step may have no references.
    bool next(step& to);
    // Reads every block; does not move the position of next().
    reference_totals totals();
    const std::vector<trace::damage>& damages() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace millpond::references
