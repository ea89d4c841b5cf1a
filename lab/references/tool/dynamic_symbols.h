/* SPDX-License-Identifier: GPL-2.0-or-later
 * dynamic_symbols: the functions that a loaded module exports, from its own tables in memory.
 *
 *   ELF header ─▶ program headers ─▶ dynamic section ─▶ symbols, their number by the hash table
 *
 * Valgrind knows only the symbols of .text, but gperftools' malloc lies in a section of its own. Tables that contradict
 * themselves are ignored. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_DYNAMIC_SYMBOLS_H
#define MILLPOND_LAB_REFERENCES_TOOL_DYNAMIC_SYMBOLS_H

#include "lab/references/tool/valgrind_headers.h"

/* Calls `visit(name, address)` for each function of the module whose file is mapped at `segment`. */
void dynamic_symbols_visit(const NSegment* segment, void (*visit)(const HChar* name, Addr address));

#endif
