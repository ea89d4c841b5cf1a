// SPDX-License-Identifier: BSL-1.0
// dump: prints a trace as text, one line for each record and event, for people, tests and diff.
//
// Use it to look at small traces: a line is some twenty times the bytes of its event. Streams, like the reader.
#pragma once

#include <cstdio>

#include "lab/trace/reader.hpp"

namespace millpond::trace {

// Prints process, modules, contexts, then every event in the order of the merge, then the damages.
void dump(reader& trace, std::FILE* to);

// Prints the content of the trace without its events, and its marked phases. One pass over the events.
void dump_summary(reader& trace, std::FILE* to);

}  // namespace millpond::trace
