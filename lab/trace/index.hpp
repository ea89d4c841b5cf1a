// SPDX-License-Identifier: BSL-1.0
// index: the list of a trace's blocks, stored as its last block, so that a reader need not walk the file.
//
//   … │ block │ block │ index block: one entry a block │ trailer 16: offset of the index block │
//
// A reader works without it (it scans); rebuild_index puts one back where it is missing or damaged.
#pragma once

#include <cstdint>
#include <string>

#include "lab/trace/reader.hpp"

namespace millpond::trace {

// Rewrites the trace with a fresh index: whole blocks are copied as they are, damaged stretches are left out, the
// result is written aside and renamed. Returns what was left out. Throws trace_error (nothing readable),
// std::system_error.
std::vector<damage> rebuild_index(const std::string& path);

}  // namespace millpond::trace
