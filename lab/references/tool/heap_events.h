/* SPDX-License-Identifier: GPL-2.0-or-later
 * heap_events: writes the heap events of a captured process a second time, as `events` blocks, so that readers of heap
 * traces can read them. Their time is the position in the stream (buffer.h). One open block of 64 KiB for each thread.
 * */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_HEAP_EVENTS_H
#define MILLPOND_LAB_REFERENCES_TOOL_HEAP_EVENTS_H

#include "lab/references/tool/valgrind_headers.h"

/* `flags`: millpond_allocate_flag. */
void heap_events_allocate(ThreadId thread, Addr address, SizeT bytes, UInt context, UInt flags);
void heap_events_free(ThreadId thread, Addr address, UInt flags);
/* Writes all open blocks. */
void heap_events_finish(void);
/* In a child of fork: nothing of the parent is written. */
void heap_events_drop(void);

#endif
