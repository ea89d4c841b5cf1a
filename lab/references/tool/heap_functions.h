/* SPDX-License-Identifier: GPL-2.0-or-later
 * heap_functions: finds the functions of an allocator (lab/references/heap_functions.h) by their names. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H
#define MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H

#include "lab/references/heap_functions.h"
#include "lab/references/tool/valgrind_headers.h"

/* Its number, of a name as the linker has it; 0: it is none. */
UInt heap_function_of_name(const HChar* name);

#endif
