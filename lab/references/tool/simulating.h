/* SPDX-License-Identifier: GPL-2.0-or-later
 * simulating: feeds words of the stream to simulators in the program's own process, and writes only counts.
 *
 *   words ─▶ expansion ─▶ batches ─▶ simulators (lab/simulate) ─▶ a block of counts at the end
 *
 * Memory: that of the simulators. A child of fork begins with empty caches and its own counts. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_SIMULATING_H
#define MILLPOND_LAB_REFERENCES_TOOL_SIMULATING_H

#include "lab/references/simulators.h"
#include "lab/references/tool/valgrind_headers.h"

/* To be set before the first simulator is asked for. */
extern struct millpond_rules simulating_rules;
extern Bool simulating_with_system;

/* Asks for a simulator. Returns null, or why the description is wrong. At most 32 are kept. */
const HChar* simulating_ask(const HChar* description);
Bool simulating_is_asked(void);
/* Starts again, with all counts zero. */
void simulating_start(void);
/* Whole records of the stream; `state`: thread * 2 + in the allocator, at the first. */
void simulating_take(const ULong* first, const ULong* last, ULong state);
/* Writes what was counted so far into the trace. */
void simulating_write(void);

#endif
