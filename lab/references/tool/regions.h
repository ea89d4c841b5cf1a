/* SPDX-License-Identifier: GPL-2.0-or-later
 * regions: finds where the stacks of threads, the data of modules, the break and the main
 * thread's variables lie. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_REGIONS_H
#define MILLPOND_LAB_REFERENCES_TOOL_REGIONS_H

#include "lab/references/tool/valgrind_headers.h"

typedef struct {
    UInt kind; /* mpt_region */
    Addr first;
    SizeT bytes;
} memory_region;

void regions_on_thread_start(ThreadId thread);
/* The first thread calls the allocator for the first time. Thread-local variables lie below the thread pointer, and
 * above it what the C library has for a thread. Those of other threads lie on their stack's mapping. */
void regions_on_first_call(Addr thread_pointer);
void regions_on_main(Addr first);
/* Finds the modules that are loaded now, and the break. */
void regions_find(void);
/* All that were ever found, in the order in which they were. */
UInt regions_count(void);
const memory_region* regions_at(UInt position);

#endif
