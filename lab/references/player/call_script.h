/* SPDX-License-Identifier: BSL-1.0
 * call_script: the file format for the calls of a program to its allocator, in the order in which they ended; the
 * player repeats them on another allocator.
 *
 *   │ header │ call │ call │ … │
 *
 * Addresses are replaced by slots, which are reused: a player's table is as large as the largest number of live
 * objects. If the program itself starts, its start makes the calls before main: the player does not repeat them, and
 * takes the blocks of the start in their order, by size. The script has every call that can be played, including those
 * without effect (free of a null pointer), so that recorded and played calls can be matched one by one. If a plan gives
 * some objects pools of their own, their calls go to the library of pools (layout/pools_library.cpp): one multipool
 * each, or one arena each from number millpond_first_arena_pool on. The file passes between two programs on one
 * machine: native byte order, one version. Freestanding C11: writer and player compile the same text. */
#ifndef MILLPOND_LAB_REFERENCES_PLAYER_CALL_SCRIPT_H
#define MILLPOND_LAB_REFERENCES_PLAYER_CALL_SCRIPT_H

#include <stdint.h>

#include "lab/references/heap_functions.h"

enum millpond_call_flag {
    millpond_call_has_old = 1,       /* a free, or a realloc, of what lies in the slot; else of a null pointer */
    millpond_call_has_result = 2,    /* the call gives a block, which goes into the slot */
    millpond_call_is_early = 4,      /* the program made it before main */
    millpond_call_starts_thread = 8, /* the C library made it to start thread number old_bytes */
    millpond_call_ends_thread = 16   /* no call: the thread ends here */
};

struct millpond_call {
    uint64_t bytes;             /* asked for; of a free: of its object */
    uint64_t old_bytes;         /* of a realloc: of the object that it resizes; or a thread */
    uint32_t slot;              /* of the object; a realloc keeps it */
    uint32_t thread;            /* from 0, in the order in which they first call; numbers are not used again */
    uint16_t pool;              /* 0: the malloc of the process; else the pool of the object */
    uint16_t old_pool;          /* of a realloc */
    uint8_t function;           /* heap_functions.h */
    uint8_t alignment_log2;     /* above the default; 0: the default */
    uint8_t flags;              /* millpond_call_flag */
    uint8_t old_alignment_log2; /* of a realloc */
};

/* Returns whether a player makes the call: not calls that only query, and not allocations that failed. */
static inline int millpond_is_played(unsigned function, int has_result) {
    switch (millpond_shape_of(function)) {
        case millpond_shape_none:
            return 0;
        case millpond_shape_free:
        case millpond_shape_realloc:
        case millpond_shape_reallocarray:
            return 1;
        default:
            return has_result;
    }
}

static const uint64_t millpond_call_script_magic = 0x534C4C4143504DULL; /* "MPCALLS" */
enum { millpond_call_script_version = 2, millpond_first_arena_pool = 65100 };

struct millpond_call_script {
    uint64_t magic;
    uint32_t version;
    uint32_t call_bytes; /* sizeof(struct millpond_call) */
    uint64_t calls;
    uint32_t slots;
    uint32_t threads;
    uint64_t executable; /* millpond_hash_of_path of the program's file */
    uint64_t sum;        /* millpond_script_sum */
};

/* Returns what a call adds to the sum of its script. The sums of calls are added up, so that one call can be changed
 * later. */
static inline uint64_t millpond_call_sum(uint64_t number, const struct millpond_call* call) {
    uint64_t words[sizeof *call / sizeof(uint64_t)];
    uint64_t sum = number ^ 0x9E3779B97F4A7C15ULL;
    __builtin_memcpy(words, call, sizeof words);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; ++i) {
        sum = (sum ^ words[i]) * 0xD6E8FEB86659FD93ULL;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Detects damage, not malice. `calls`: the sums of all calls, added up. */
static inline uint64_t millpond_script_sum(const struct millpond_call_script* script, uint64_t calls) {
    uint64_t sum = calls;
    const uint64_t words[] = {script->magic, (uint64_t)script->version << 32 | script->call_bytes, script->calls,
                              (uint64_t)script->slots << 32 | script->threads, script->executable};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; ++i) {
        sum = (sum ^ words[i]) * 0xD6E8FEB86659FD93ULL;
        sum ^= sum >> 32;
    }
    return sum;
}

static inline uint64_t millpond_hash_of_path(const char* path) {
    uint64_t hash = 0xCBF29CE484222325ULL;
    while (*path != 0) hash = (hash ^ (uint8_t)*path++) * 0x100000001B3ULL;
    return hash;
}

#endif
