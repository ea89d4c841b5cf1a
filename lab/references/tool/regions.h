/* SPDX-License-Identifier: GPL-2.0-or-later
 * regions: where the stacks of threads and the data of modules lie. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_REGIONS_H
#define MILLPOND_LAB_REFERENCES_TOOL_REGIONS_H

#include "lab/references/tool/valgrind_headers.h"

typedef struct {
    UInt kind; /* mpt_region */
    Addr first;
    SizeT bytes;
} memory_region;

void regions_on_thread_start(ThreadId thread);
/* Finds the modules that are loaded now. */
void regions_find_modules(void);
/* All that were ever found, in the order in which they were. */
UInt regions_count(void);
const memory_region* regions_at(UInt position);

#endif
