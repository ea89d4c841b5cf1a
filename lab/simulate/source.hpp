// SPDX-License-Identifier: BSL-1.0
// reference_source: where references come from, batch by batch: text of another tool, a recording of ours, a generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/layout/moved_reader.hpp"
#include "lab/references/reference.h"
#include "lab/trace/reader.hpp"

namespace millpond::simulate {

struct reference_batch {
    const millpond_reference* references = nullptr;  // until the next call
    std::size_t count = 0;
    std::uint64_t instructions = 0;  // executed for these
    bool flushes = false;            // the caches are to be emptied behind it: the trace says so
    std::uint64_t skipped = 0;       // instructions behind it that were not captured
    bool in_allocator = false;       // whether they are the allocator's; text does not tell
};

class reference_source {
  public:
    reference_source() = default;
    reference_source(const reference_source&) = delete;
    reference_source& operator=(const reference_source&) = delete;
    virtual ~reference_source() = default;

    // Of the text or file, for the document: "recording", "din", "lackey". Known once something was read.
    virtual const char* format_name() const = 0;
    // The next references; false at the end. Throws program::failure (input). A batch may be empty of references.
    virtual bool next(reference_batch& batch) = 0;
    // What was moved to the layout of another allocator so far; nothing where nothing is.
    virtual std::optional<layout::moved_totals> moved() const { return std::nullopt; }
    // Damages of the recording, known at the end; throws trace::trace_error where there are any that are not accepted.
    virtual std::vector<trace::damage> damages(bool /*accepts*/) const { return {}; }
    // Why the recording ends before its program; empty where it does not.
    virtual std::string partial() const { return {}; }
};

}  // namespace millpond::simulate
