/* SPDX-License-Identifier: BSL-1.0
 * heap_functions: the functions of an allocator, their numbers in recordings (millpond_record_enter), and the positions
 * of their arguments. C and C++.
 *
 * A number is the position in the list, from 1. Traces contain these numbers: new functions go to the end. The last one
 * stands for calls by a C library for itself, such as returning an ending thread's cache; the four before are those of
 * Millpond's player (player/). */
#ifndef MILLPOND_LAB_REFERENCES_HEAP_FUNCTIONS_H
#define MILLPOND_LAB_REFERENCES_HEAP_FUNCTIONS_H

/* The form in which a function takes its request. */
enum millpond_heap_shape {
    millpond_shape_none,           /* no heap event: malloc_usable_size */
    millpond_shape_malloc,         /* (bytes …) */
    millpond_shape_calloc,         /* (count, bytes) */
    millpond_shape_new_aligned,    /* (bytes, alignment …) */
    millpond_shape_memalign,       /* (alignment, bytes) */
    millpond_shape_posix_memalign, /* (result, alignment, bytes) */
    millpond_shape_page_aligned,   /* (bytes) */
    millpond_shape_realloc,        /* (old, bytes) */
    millpond_shape_reallocarray,   /* (old, count, bytes) */
    millpond_shape_free            /* (old …) */
};

/* clang-format off */
#define MILLPOND_HEAP_FUNCTIONS(FUNCTION) \
    FUNCTION(malloc, malloc) \
    FUNCTION(calloc, calloc) \
    FUNCTION(realloc, realloc) \
    FUNCTION(reallocarray, reallocarray) \
    FUNCTION(memalign, memalign) \
    FUNCTION(aligned_alloc, memalign) \
    FUNCTION(posix_memalign, posix_memalign) \
    FUNCTION(valloc, page_aligned) \
    FUNCTION(pvalloc, page_aligned) \
    FUNCTION(free, free) \
    FUNCTION(cfree, free) \
    FUNCTION(free_sized, free) \
    FUNCTION(free_aligned_sized, free) \
    FUNCTION(malloc_usable_size, none) \
    FUNCTION(malloc_trim, none) \
    FUNCTION(_Znwm, malloc) \
    FUNCTION(_Znam, malloc) \
    FUNCTION(_ZnwmRKSt9nothrow_t, malloc) \
    FUNCTION(_ZnamRKSt9nothrow_t, malloc) \
    FUNCTION(_ZnwmSt11align_val_t, new_aligned) \
    FUNCTION(_ZnamSt11align_val_t, new_aligned) \
    FUNCTION(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned) \
    FUNCTION(_ZnamSt11align_val_tRKSt9nothrow_t, new_aligned) \
    FUNCTION(_ZdlPv, free) \
    FUNCTION(_ZdaPv, free) \
    FUNCTION(_ZdlPvm, free) \
    FUNCTION(_ZdaPvm, free) \
    FUNCTION(_ZdlPvRKSt9nothrow_t, free) \
    FUNCTION(_ZdaPvRKSt9nothrow_t, free) \
    FUNCTION(_ZdlPvSt11align_val_t, free) \
    FUNCTION(_ZdaPvSt11align_val_t, free) \
    FUNCTION(_ZdlPvmSt11align_val_t, free) \
    FUNCTION(_ZdaPvmSt11align_val_t, free) \
    FUNCTION(_ZdlPvSt11align_val_tRKSt9nothrow_t, free) \
    FUNCTION(_ZdaPvSt11align_val_tRKSt9nothrow_t, free) \
    FUNCTION(millpond_played_call, none) \
    FUNCTION(millpond_pool_allocate, new_aligned) \
    FUNCTION(millpond_pool_resize, realloc) \
    FUNCTION(millpond_pool_deallocate, free) \
    FUNCTION(millpond_internal_call, none)
/* clang-format on */

#define MILLPOND_FUNCTION(name, shape) millpond_function_##name,
enum millpond_heap_function {
    millpond_function_none,
    MILLPOND_HEAP_FUNCTIONS(MILLPOND_FUNCTION) millpond_function_end
};
#undef MILLPOND_FUNCTION

/* Returns the shape for a function's number; none for a number that this version does not know. */
static inline enum millpond_heap_shape millpond_shape_of(unsigned function) {
#define MILLPOND_FUNCTION(name, shape) millpond_shape_##shape,
    static const enum millpond_heap_shape shapes[] = {millpond_shape_none, MILLPOND_HEAP_FUNCTIONS(MILLPOND_FUNCTION)};
#undef MILLPOND_FUNCTION
    return function < millpond_function_end ? shapes[function] : millpond_shape_none;
}

#endif
