// SPDX-License-Identifier: BSL-1.0
// reference_source: the source of references, batch by batch: another tool's text, a Millpond recording, or a
// generator.
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
    const millpond_reference* references = nullptr;  // valid until the next call
    std::size_t count = 0;
    std::uint64_t instructions = 0;  // executed in this batch
    bool flushes = false;            // the trace asks to empty the caches after this batch
    std::uint64_t skipped = 0;       // instructions after this batch that were not captured
    bool in_allocator = false;       // true if they are the allocator's; unknown (false) for text
};

class reference_source {
  public:
    reference_source() = default;
    reference_source(const reference_source&) = delete;
    reference_source& operator=(const reference_source&) = delete;
    virtual ~reference_source() = default;

    // Returns the format for the document: "recording", "din", "lackey". Known once something was read.
    virtual const char* format_name() const = 0;
    // Reads the next references; returns false at the end. Throws program::failure (input). A batch may have no
    // references.
    virtual bool next(reference_batch& batch) = 0;
    // Returns what was moved so far to the layout of another allocator; empty if there is no such layout.
    virtual std::optional<layout::moved_totals> moved() const { return std::nullopt; }
    // Returns the damages of the recording, known at the end. Throws trace::trace_error if there are any and they are
    // not accepted.
    virtual std::vector<trace::damage> damages(bool /*accepts*/) const { return {}; }
    // Returns why the recording ends before its program; empty if it does not.
    virtual std::string partial() const { return {}; }
};

}  // namespace millpond::simulate
