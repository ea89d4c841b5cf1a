/* SPDX-License-Identifier: GPL-2.0-or-later
 * sink: takes the words of the stream when the buffer is full, and passes them on.
 *
 *   buffer ─▶ bounds (from, so many instructions, bursts) ─▶ encoder ─▶ block ─▶ trace_file
 *                                                        ├▶ simulators (--simulate)
 *                                                        └▶ nowhere (--discard) */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_SINK_H
#define MILLPOND_LAB_REFERENCES_TOOL_SINK_H

#include "lab/references/tool/valgrind_headers.h"

/* Bounds of a capture, in instructions of the process; 0: none. */
typedef struct {
    ULong from;          /* not captured at the start */
    ULong instructions;  /* captured, then nothing more */
    ULong burst, period; /* so many of each period are captured */
    Bool discard;        /* words are written and dropped: to measure what they cost */
} capture_bounds;

extern capture_bounds bounds;

/* After the options are known, and in a child of fork. */
void sink_start(void);
/* Words between `first` and `last`: whole records. */
void sink_take(const ULong* first, const ULong* last);
/* Writes the block that is open. */
void sink_finish(void);
/* While the gate is closed only the heap events are captured (--skip-start, --window). */
void sink_open_gate(void);
void sink_close_gate(void);
/* Returns whether everything within the bounds has been captured. */
Bool sink_is_done(void);

#endif
