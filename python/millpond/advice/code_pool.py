# SPDX-License-Identifier: BSL-1.0
"""Writes the C header of an advised change of C code: for each allocator a pool whose blocks have no head.

The pool does the same as the trial's: the same size classes, the same slabs, blocks in the same order. A free finds the
pool and the size of a block by its address, so a function that frees any block can free these, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_header import one_line
from millpond.advice.code_homes import PROCESS, AdvisedAllocator

C_HEADER = "millpond_advice.h"


def c_header(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the header."""
    head = _HEAD.replace("PROGRAM", comment(program)).replace("EXAMPLE", homes[0].name)
    return head + "".join(_home(home) for home in homes) + _TAIL


def comment(text: str) -> str:
    """Returns a program's text for a comment of C."""
    return one_line(text).replace("*/", "* /").replace("/*", "/ *")


def _home(home: AdvisedAllocator) -> str:
    shared = "1" if home.several_threads else "0"
    lines = [f"Owner: {comment(home.owner)}."]
    if home.kind != PROCESS:
        lines.append(
            "The plan gives it another allocator than a pool of the process. C has only the latter: measure again "
            "what it saves."
        )
    if home.several_threads:
        lines.append("Several threads use it, so each call takes a lock, which the trial's pool did not.")
    said = "\n".join(f" * {line}" for line in lines)
    return _HOME.replace("COMMENT", said).replace("SHARED", shared).replace("NAME", home.name)


_HEAD = """\
/* The pools that Millpond advises for PROGRAM.
 *
 *   void* EXAMPLE_allocate(size_t bytes);                            replaces malloc
 *   void EXAMPLE_free(void* block, size_t bytes);                    replaces free if the block's size is known
 *   void EXAMPLE_free_any(void* block);                              replaces free, for any block of pool or malloc
 *   void* EXAMPLE_resize(void* block, size_t held, size_t bytes);    replaces realloc if the block's size is known
 *   void* EXAMPLE_resize_any(void* block, size_t bytes);             replaces realloc, for any block of pool or malloc
 *   int EXAMPLE_owns(const void* block);                             true if the block is from the pool
 *
 *   slab of 64 KiB  | 32 | block | block | block | ...      blocks of one size; the first 32 bytes are not used
 *
 * Include it wherever the pool is used; nothing has to be linked. C99 or newer, or C++, compiled by gcc or clang.
 * Blocks have no head: a free finds the slab by the block's address, and the slab has the size. Requests above 32 KiB
 * go to malloc and free. Memory that a pool has taken serves blocks of one size until the process ends. Freeing a null
 * block does nothing; resizing one allocates. The functions return null if there is no memory. Blocks are aligned as
 * malloc's are. EXAMPLE_resize_any seldom moves a block; free its result by EXAMPLE_free_any, not by EXAMPLE_free.
 * Cost: about ten instructions, a free by address about twenty. -DMILLPOND_CHECKED ends the program at a free with a
 * wrong size or of a block that was just freed. Threads: one at a time, unless the pool's comment names a lock. */
#ifndef MILLPOND_ADVICE_H
#define MILLPOND_ADVICE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef MILLPOND_CHECKED
#include <stdio.h>
#endif

#define MILLPOND_SLAB_BYTES ((size_t)65536)
#define MILLPOND_EXTENT_BYTES ((size_t)2097152)
#define MILLPOND_POOLED_MAX ((size_t)32768)
#define MILLPOND_CLASSES 44

typedef struct millpond_block {
    struct millpond_block* next;
} millpond_block;

/* The blocks of one size in three lists: `ready`, freed blocks in the order of their frees; `fresh`, a row of unused
 * blocks; `freed`, the latest frees. When `ready` is empty, part of `freed` is reversed into it. */
typedef struct millpond_class {
    millpond_block* ready;
    millpond_block* freed;
    char* fresh;
    char* fresh_end;
    size_t row_blocks; /* blocks in the next row; 0: the class has not been used */
} millpond_class;

/* 2 MiB of slabs, with the class of each plus 1. */
typedef struct millpond_extent {
    uintptr_t base; /* 0: no entry */
    unsigned char class_of[32];
} millpond_extent;

typedef struct millpond_pool {
    millpond_class classes[MILLPOND_CLASSES];
    millpond_extent* extents; /* a hash table by base */
    size_t places;            /* entries of the table: a power of two, or 0 */
    size_t used;
    char* slab; /* the next one, up to ... */
    char* slab_end;
    size_t chunk_extents; /* extents of the next chunk */
    char lock;
} millpond_pool;

static inline void millpond_lock(millpond_pool* pool, int shared) {
    while (shared && __atomic_test_and_set(&pool->lock, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&pool->lock, __ATOMIC_RELAXED)) {
        }
}
static inline void millpond_unlock(millpond_pool* pool, int shared) {
    if (shared) __atomic_clear(&pool->lock, __ATOMIC_RELEASE);
}

/* 8, 16, ... 64, then four sizes an octave; blocks above 8 bytes are aligned to 16. */
static inline unsigned millpond_class_of(size_t bytes) {
    const size_t rounded = bytes <= 8 ? 8 : (bytes + 15) & ~(size_t)15;
    const size_t last = (rounded - 1) / 8;
    const unsigned width = 8u * (unsigned)sizeof(unsigned long) - (unsigned)__builtin_clzl((unsigned long)(last | 4));
    const unsigned octave = width - 3;
    return 4 * octave + (unsigned)(last >> octave);
}
static inline size_t millpond_class_bytes(unsigned index) {
    return index < 8 ? (size_t)(index + 1) * 8 : ((size_t)(index % 4 + 5) * 8) << (index / 4 - 1);
}

static inline size_t millpond_place_of(uintptr_t base, size_t places) {
    const uint32_t hash = (uint32_t)(base / MILLPOND_EXTENT_BYTES) * 0x9E3779B1u;
    return (size_t)(hash >> 8) & (places - 1);
}
/* Returns the class of the block's slab plus 1; 0 if the block is not from the pool. */
static inline unsigned millpond_owner(const millpond_pool* pool, const void* block) {
    const uintptr_t address = (uintptr_t)block, base = address & ~(uintptr_t)(MILLPOND_EXTENT_BYTES - 1);
    size_t at;
    if (pool->places == 0) return 0;
    for (at = millpond_place_of(base, pool->places); pool->extents[at].base != 0; at = (at + 1) & (pool->places - 1))
        if (pool->extents[at].base == base)
            return pool->extents[at].class_of[(address - base) / MILLPOND_SLAB_BYTES];
    return 0;
}

/* Returns the entry of an extent, and makes it if needed; null if there is no memory for it. */
static __attribute__((noinline, unused)) millpond_extent* millpond_extent_at(millpond_pool* pool, uintptr_t base) {
    size_t at;
    if (2 * (pool->used + 1) > pool->places) {
        const size_t places = pool->places == 0 ? 16 : 2 * pool->places;
        millpond_extent* const extents = (millpond_extent*)calloc(places, sizeof(millpond_extent));
        size_t i;
        if (extents == NULL) return NULL;
        for (i = 0; i < pool->places; ++i) {
            if (pool->extents[i].base == 0) continue;
            at = millpond_place_of(pool->extents[i].base, places);
            while (extents[at].base != 0) at = (at + 1) & (places - 1);
            extents[at] = pool->extents[i];
        }
        free(pool->extents);
        pool->extents = extents;
        pool->places = places;
    }
    at = millpond_place_of(base, pool->places);
    while (pool->extents[at].base != 0 && pool->extents[at].base != base) at = (at + 1) & (pool->places - 1);
    if (pool->extents[at].base == 0) {
        pool->extents[at].base = base;
        ++pool->used;
    }
    return &pool->extents[at];
}

/* Returns `bytes` of slabs, marked with the class; or null. Takes chunks of whole extents from malloc, each twice as
 * long as the last, up to 64 MiB; the system gives memory only to pages that are used. */
static __attribute__((noinline, unused)) char* millpond_take_slabs(millpond_pool* pool, size_t bytes, unsigned index) {
    char* first;
    size_t at;
    if ((size_t)(pool->slab_end - pool->slab) < bytes) {
        size_t extents = pool->chunk_extents == 0 ? 1 : pool->chunk_extents;
        char* chunk = (char*)malloc((extents + 1) * MILLPOND_EXTENT_BYTES);
        while (chunk == NULL && extents > 1) {
            extents /= 2;
            chunk = (char*)malloc((extents + 1) * MILLPOND_EXTENT_BYTES);
        }
        if (chunk == NULL) return NULL;
        chunk += (size_t)(0 - (uintptr_t)chunk) & (MILLPOND_EXTENT_BYTES - 1);
        pool->slab = chunk;
        pool->slab_end = chunk + extents * MILLPOND_EXTENT_BYTES;
        pool->chunk_extents = extents < 32 ? 2 * extents : 32;
    }
    first = pool->slab;
    for (at = 0; at < bytes; at += MILLPOND_SLAB_BYTES) {
        const uintptr_t address = (uintptr_t)first + at, base = address & ~(uintptr_t)(MILLPOND_EXTENT_BYTES - 1);
        millpond_extent* const extent = millpond_extent_at(pool, base);
        if (extent == NULL) return NULL;
        extent->class_of[(address - base) / MILLPOND_SLAB_BYTES] = (unsigned char)(index + 1);
    }
    pool->slab += bytes;
    return first;
}

/* Gives the class a row of fresh blocks. Returns 0 if there is no memory. */
static __attribute__((noinline, unused)) int millpond_add_row(millpond_pool* pool, unsigned index) {
    millpond_class* const to = &pool->classes[index];
    const size_t block = millpond_class_bytes(index), natural = block & (~block + 1), head = 32;
    const size_t alignment = natural < 64 ? natural : 64;
    size_t row, slabs = MILLPOND_SLAB_BYTES;
    char* first = NULL;
    if (to->row_blocks == 0) to->row_blocks = block < 64 ? 64 / block : 1;
    row = block * to->row_blocks;
    while (slabs < row) slabs *= 2;
    for (; first == NULL && slabs >= MILLPOND_SLAB_BYTES; slabs /= 2) first = millpond_take_slabs(pool, slabs, index);
    if (first == NULL) return 0;
    slabs *= 2;
    to->fresh = first + ((head + alignment - 1) & ~(alignment - 1));
    to->fresh_end = to->fresh + (size_t)(first + slabs - to->fresh) / block * block;
    if (row >= 32768 && to->row_blocks < 32) to->row_blocks *= 2;
    if (row < 32768) to->row_blocks *= 2;
    return 1;
}

static __attribute__((noinline, unused)) void* millpond_take_slowly(millpond_pool* pool, unsigned index) {
    millpond_class* const from = &pool->classes[index];
    void* block;
    if (from->freed != NULL) {
        const size_t bytes = millpond_class_bytes(index);
        size_t turned;
        for (turned = 0; turned < 32768 && from->freed != NULL; turned += bytes) {
            millpond_block* const last = from->freed;
            from->freed = last->next;
            last->next = from->ready;
            from->ready = last;
        }
        block = from->ready;
        from->ready = from->ready->next;
        return block;
    }
    if (from->fresh == from->fresh_end && !millpond_add_row(pool, index)) return NULL;
    block = from->fresh;
    from->fresh += millpond_class_bytes(index);
    return block;
}

static inline void* millpond_take(millpond_pool* pool, size_t bytes, int shared) {
    const unsigned index = millpond_class_of(bytes);
    millpond_class* const from = &pool->classes[index];
    void* block;
    millpond_lock(pool, shared);
    block = from->ready;
    if (block != NULL)
        from->ready = from->ready->next;
    else
        block = millpond_take_slowly(pool, index);
    millpond_unlock(pool, shared);
    return block;
}

static inline void millpond_put(millpond_pool* pool, void* block, unsigned index) {
    millpond_class* const to = &pool->classes[index];
    millpond_block* const link = (millpond_block*)block;
    millpond_block** const list = to->ready == NULL && to->freed == NULL ? &to->ready : &to->freed;
#ifdef MILLPOND_CHECKED
    if (millpond_owner(pool, block) != index + 1 || to->ready == link || to->freed == link) {
        fprintf(stderr, "millpond: %p was freed twice, with another size, or to the wrong pool\\n", block);
        abort();
    }
    memset(block, 0xDD, millpond_class_bytes(index));
#endif
    link->next = *list;
    *list = link;
}

static inline void millpond_give(millpond_pool* pool, void* block, size_t bytes, int shared) {
    if (block == NULL) return;
    if (bytes > MILLPOND_POOLED_MAX) {
        free(block);
        return;
    }
    millpond_lock(pool, shared);
    millpond_put(pool, block, millpond_class_of(bytes));
    millpond_unlock(pool, shared);
}

static inline void millpond_give_any(millpond_pool* pool, void* block, int shared) {
    unsigned owner;
    millpond_lock(pool, shared);
    owner = millpond_owner(pool, block);
    if (owner != 0) millpond_put(pool, block, owner - 1);
    millpond_unlock(pool, shared);
    if (owner == 0) free(block);
}

static inline int millpond_owns(millpond_pool* pool, const void* block, int shared) {
    unsigned owner;
    millpond_lock(pool, shared);
    owner = millpond_owner(pool, block);
    millpond_unlock(pool, shared);
    return owner != 0;
}

/* Moves a block of the pool from a class of `held` bytes. */
static __attribute__((noinline, unused)) void* millpond_move(millpond_pool* pool, void* block, size_t held,
                                                             size_t bytes, int shared) {
    const int fits = bytes <= held;
    void* const moved = bytes > MILLPOND_POOLED_MAX ? malloc(bytes) : millpond_take(pool, bytes, shared);
    if (moved == NULL) return fits ? block : NULL;
    memcpy(moved, block, fits ? bytes : held);
    millpond_give(pool, block, held, shared);
    return moved;
}

static __attribute__((noinline, unused)) void* millpond_resize_any(millpond_pool* pool, void* block, size_t bytes,
                                                                   int shared) {
    unsigned owner;
    size_t held;
    millpond_lock(pool, shared);
    owner = millpond_owner(pool, block);
    millpond_unlock(pool, shared);
    if (owner == 0) return realloc(block, bytes);
    held = millpond_class_bytes(owner - 1);
    /* Moves only a block that would be mostly empty, unless it is small. */
    if (bytes <= held && (bytes >= held / 4 || held <= 128)) return block;
    return millpond_move(pool, block, held, bytes, shared);
}

static __attribute__((noinline, unused)) void* millpond_resize(millpond_pool* pool, void* block, size_t held,
                                                               size_t bytes, int shared) {
    void* moved;
    if (block == NULL) return bytes > MILLPOND_POOLED_MAX ? malloc(bytes) : millpond_take(pool, bytes, shared);
    if (held <= MILLPOND_POOLED_MAX) {
        const unsigned index = millpond_class_of(held);
        if (bytes <= MILLPOND_POOLED_MAX && millpond_class_of(bytes) == index) return block;
        return millpond_move(pool, block, millpond_class_bytes(index), bytes, shared);
    }
    if (bytes > MILLPOND_POOLED_MAX) return realloc(block, bytes);
    moved = millpond_take(pool, bytes, shared); /* blocks above 32 KiB are malloc's, smaller ones the pool's */
    if (moved == NULL) return NULL;
    memcpy(moved, block, bytes);
    free(block);
    return moved;
}
"""

_HOME = """
/* NAME.
COMMENT
 * All sources that include this share one pool: the linker keeps one definition of a weak variable. */
__attribute__((weak)) millpond_pool NAME_pool;

static inline void* NAME_allocate(size_t bytes) {
    return bytes > MILLPOND_POOLED_MAX ? malloc(bytes) : millpond_take(&NAME_pool, bytes, SHARED);
}
static inline void NAME_free(void* block, size_t bytes) { millpond_give(&NAME_pool, block, bytes, SHARED); }
static inline void NAME_free_any(void* block) { millpond_give_any(&NAME_pool, block, SHARED); }
static inline void* NAME_resize(void* block, size_t held, size_t bytes) {
    return millpond_resize(&NAME_pool, block, held, bytes, SHARED);
}
static inline void* NAME_resize_any(void* block, size_t bytes) {
    return millpond_resize_any(&NAME_pool, block, bytes, SHARED);
}
static inline int NAME_owns(const void* block) { return millpond_owns(&NAME_pool, block, SHARED); }
"""

_TAIL = "\n#endif\n"
