/* SPDX-License-Identifier: GPL-2.0-or-later
 * contexts: the call stacks at allocations, as a tree of return addresses, and the modules in which they lie.
 *
 * A stack that was seen before at the same stack pointer is recognised by its return addresses, which are compared in
 * place; only other stacks are walked by call-frame information. A stack ends where its next frame would not be in
 * code. Nodes are numbered from 1 in the order in which they appear; trace_file.h writes the new ones. O(depth) a
 * stack. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_CONTEXTS_H
#define MILLPOND_LAB_REFERENCES_TOOL_CONTEXTS_H

#include "lab/references/tool/valgrind_headers.h"

typedef struct {
    UInt parent;
    UInt module; /* 0: none */
    ULong offset;
} context_node;

typedef struct {
    UInt id;
    Addr bias, first, last;
    ULong load_tick, unload_tick;
    HChar* path;
    Bool changed; /* since it was written */
} context_module;

/* The context of the running thread, which stands at the entry of a function. */
UInt contexts_find(ThreadId thread, Addr sp);

/* Nodes 1 … contexts_count(). */
UInt contexts_count(void);
const context_node* contexts_node(UInt id);
/* All modules that are loaded now; else those that a context has met. */
void contexts_find_modules(void);
UInt contexts_module_count(void);
context_module* contexts_module(UInt position);

/* Code or stacks may have gone. */
void contexts_on_unmap(Addr first, SizeT bytes);

#endif
