/* SPDX-License-Identifier: GPL-2.0-or-later
 * heap_functions: the functions of an allocator, by name, and where their arguments lie. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H
#define MILLPOND_LAB_REFERENCES_TOOL_HEAP_FUNCTIONS_H

#include "lab/references/tool/valgrind_headers.h"

/* How a function takes its request. */
typedef enum {
    shape_none,           /* no heap event: malloc_usable_size */
    shape_malloc,         /* (bytes …) */
    shape_calloc,         /* (count, bytes) */
    shape_new_aligned,    /* (bytes, alignment …) */
    shape_memalign,       /* (alignment, bytes) */
    shape_posix_memalign, /* (result, alignment, bytes) */
    shape_page_aligned,   /* (bytes) */
    shape_realloc,        /* (old, bytes) */
    shape_reallocarray,   /* (old, count, bytes) */
    shape_free            /* (old …) */
} heap_shape;

/* 0, or a number of `heap_function_shape`: of a name as the linker has it. */
UInt heap_function_of_name(const HChar* name);
heap_shape heap_function_shape(UInt function);

#endif
