/* SPDX-License-Identifier: GPL-2.0-or-later
 * heap_functions: finds the functions of an allocator (lab/references/heap_functions.h) by their names. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H
#define MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H

#include "lab/references/heap_functions.h"
#include "lab/references/tool/valgrind_headers.h"

/* Returns the number of a function, by its name for the linker; 0 if it is not in the list. */
UInt heap_function_of_name(const HChar* name);

#endif
