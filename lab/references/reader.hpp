// SPDX-License-Identifier: BSL-1.0
// reader: every reference of a captured process, in the order in which they happened.
//
//   trace ─▶ blocks ─▶ decoder ─▶ words ─▶ expansion ─▶ next(): │ references … │ heap event │ references … │
//
// Memory: one block, the table of the program's code and a batch; independent of the length of the run. A block that is
// damaged is left out, and damages() says so. Not thread-safe.
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
    bool with_system = true;  // memory that system calls read and write
};

// A record that stands behind the references of a step.
struct stream_event {
    millpond_record record = millpond_record_none;  // none: there was no record
    std::uint64_t operands[4] = {};                 // as stream.h has them
};

// References with nothing between them, and what comes then.
struct step {
    std::span<const millpond_reference> references;  // until the next call
    std::uint64_t instructions = 0;                  // executed for these
    std::uint64_t thread = 0;                        // that ran
    bool in_allocator = false;                       // whether they are the allocator's
    stream_event event;
};

// What the headers of all blocks say.
struct reference_totals {
    std::uint64_t references = 0;  // without those of system calls
    std::uint64_t instructions = 0;
    std::uint64_t words = 0;
    std::uint64_t stored_bytes = 0;  // of blocks of references and of superblocks
};

class reader {
  public:
    // Throws trace_error where nothing can be read, or where the trace has no references.
    explicit reader(const std::string& path, const reader_options& options = {});
    ~reader();
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;

    // Process, modules and contexts.
    const trace::reader& trace() const;
    const millpond_table& code() const;
    // False at the end. A step may have no references.
    bool next(step& to);
    // Reads every block; the position of next() stays.
    reference_totals totals();
    const std::vector<trace::damage>& damages() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace millpond::references
