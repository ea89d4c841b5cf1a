/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/heap_functions.h"

static const struct {
    const HChar* name;
    heap_shape shape;
} functions[] = {
    {"", shape_none},
    {"malloc", shape_malloc},
    {"calloc", shape_calloc},
    {"realloc", shape_realloc},
    {"reallocarray", shape_reallocarray},
    {"memalign", shape_memalign},
    {"aligned_alloc", shape_memalign},
    {"posix_memalign", shape_posix_memalign},
    {"valloc", shape_page_aligned},
    {"pvalloc", shape_page_aligned},
    {"free", shape_free},
    {"cfree", shape_free},
    {"free_sized", shape_free},
    {"free_aligned_sized", shape_free},
    {"malloc_usable_size", shape_none},
    {"malloc_trim", shape_none},
    {"_Znwm", shape_malloc},
    {"_Znam", shape_malloc},
    {"_ZnwmRKSt9nothrow_t", shape_malloc},
    {"_ZnamRKSt9nothrow_t", shape_malloc},
    {"_ZnwmSt11align_val_t", shape_new_aligned},
    {"_ZnamSt11align_val_t", shape_new_aligned},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", shape_new_aligned},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", shape_new_aligned},
    {"_ZdlPv", shape_free},
    {"_ZdaPv", shape_free},
    {"_ZdlPvm", shape_free},
    {"_ZdaPvm", shape_free},
    {"_ZdlPvRKSt9nothrow_t", shape_free},
    {"_ZdaPvRKSt9nothrow_t", shape_free},
    {"_ZdlPvSt11align_val_t", shape_free},
    {"_ZdaPvSt11align_val_t", shape_free},
    {"_ZdlPvmSt11align_val_t", shape_free},
    {"_ZdaPvmSt11align_val_t", shape_free},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", shape_free},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", shape_free},
};

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
    for (UInt i = 1; i < sizeof functions / sizeof functions[0]; ++i)
        if (VG_(strcmp)(name, functions[i].name) == 0) return i;
    return 0;
}

heap_shape heap_function_shape(UInt function) { return functions[function].shape; }
