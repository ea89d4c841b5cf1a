/* SPDX-License-Identifier: GPL-2.0-or-later
 * code_table: holds the superblocks translated so far, as lab/references/stream.h describes them.
 *
 * If Valgrind drops a translation and translates the code again, the superblock keeps its number. So the table grows
 * with the code that the program runs, not with time. O(1) a superblock. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_CODE_TABLE_H
#define MILLPOND_LAB_REFERENCES_TOOL_CODE_TABLE_H

#include "lab/references/stream.h"
#include "lab/references/tool/valgrind_headers.h"

/* A superblock while it is translated. The caller adds accesses and exits, then the table takes it. */
enum { draft_accesses_max = 1000, draft_exits_max = 250, draft_roots_max = 1000 };
typedef struct {
    Addr address;
    struct millpond_access accesses[draft_accesses_max];
    struct millpond_exit exits[draft_exits_max]; /* only the counts are set */
    UInt access_count, exit_count, root_count;
} code_draft;

extern struct millpond_table code_table;

/* The number that the next superblock's first exit gets if it is new; known before its exits are. */
UInt code_table_next_exit(void);
/* Takes the draft, whose exits were numbered from code_table_next_exit(). Returns the number of its first exit: a lower
 * one where the same superblock is known. */
UInt code_table_take(const code_draft* draft);

#endif
