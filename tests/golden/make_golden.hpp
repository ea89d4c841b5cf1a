// SPDX-License-Identifier: BSL-1.0
// make_golden: writes the golden trace, the same bytes each time (except where another zstd compresses differently).
//
//   three threads, two blocks each │ the first block: rows, raw │ the second: columns, zstd, salvaged after a kill
//
// Every kind of event is in it: frees and reallocs of another thread's objects, alignments, zeroed memory, byte
// addresses, durations, notes, untimed events, sizes of one byte and of many.
#pragma once

#include <string>

namespace millpond::test {

void make_golden(const std::string& path);

}  // namespace millpond::test
