/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/heap_functions.h"

#define FUNCTION(name, shape) #name,
static const HChar* const names[] = {"", MILLPOND_HEAP_FUNCTIONS(FUNCTION)};
#undef FUNCTION

UInt heap_function_of_name(const HChar* name) {
    /* Most names of a module have another first letter. */
    switch (name[0]) {
        case 'm':
        case 'c':
        case 'r':
        case 'a':
        case 'p':
        case 'v':
        case 'f':
        case '_':
            break;
        default:
            return 0;
    }
    for (UInt i = 1; i < millpond_function_end; ++i)
        if (VG_(strcmp)(name, names[i]) == 0) return i;
    return 0;
}
