/* SPDX-License-Identifier: GPL-2.0-or-later
 * trace_file: writes the trace of one process: raw blocks of docs/reference/trace_format.md, one behind the other.
 *
 *   FILE.partial.PID.IMAGE: │ process │ superblocks │ contexts │ modules │ references │ superblocks │ references │ …
 *
 * The blocks that a block of references needs lie in front of it. Blocks go through the channel to the process that
 * writes them, so a killed process leaves everything it has sent. A file whose last block is not an end was cut. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_TRACE_FILE_H
#define MILLPOND_LAB_REFERENCES_TOOL_TRACE_FILE_H

#include "lab/references/simulators.h"
#include "lab/references/tool/valgrind_headers.h"

/* Begins the trace of this process image with its process block. Where it is not asked for, nothing is written.
 * `recording`: a number that the traces of all processes share; 0: none. */
void trace_file_open(Bool is_asked, ULong recording);
Bool trace_file_is_open(void);
/* In a child of fork: the file is the parent's. */
void trace_file_abandon(void);
void trace_file_write_references(const UChar* const* parts, const SizeT* bytes, UInt count, ULong first);
/* A block of heap events, of which lengths, count and checksum are yet to be set. */
void trace_file_write_events(void* block, UInt events);
/* Writes the counts of `simulation` so far by `rules`, on so many instructions (of the program, in the allocator) and
 * references of each millpond_reference_kind. */
void trace_file_write_counts(const struct millpond_simulation* simulation, const ULong instructions[2],
                             const ULong kinds[3], const struct millpond_rules* rules);
/* A block that says how the capture ended, unless others follow: an exec may fail. `stopped`: why it ended before the
 * program did, or null. `failed`: the number of allocations that failed. */
void trace_file_write_end(const HChar* stopped, ULong failed);
/* The same, and nothing may follow. */
void trace_file_close(const HChar* stopped, ULong failed);

/* The file of the program, as Valgrind has it open. */
const HChar* trace_file_executable(void);

#endif
