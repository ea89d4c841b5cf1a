/* SPDX-License-Identifier: BSL-1.0
 * stream: the actions of a captured program as 64-bit words, and the table of its code that gives them meaning.
 *
 *   │ exit │ root │ root │ exit │ root │ leave │ allocate │ address │ bytes │ context │ flags │ exit │ …
 *     │      └ the value of a register or temporary on which addresses of this superblock are based
 *     └ number of the exit by which a superblock was left, of the table; and how many roots follow, so that a reader
 *       finds the next record without the table
 *
 * A superblock is a straight run of instructions with one entry and several exits. Its accesses are known when it is
 * translated, except the roots: an address is a constant, or a root plus a constant. So the stream holds one word for
 * each superblock that ran, and one for each root. Words below `millpond_first_exit` are records of their own.
 * Freestanding C11: the tool, the reader and the simulators compile the same text. */
#ifndef MILLPOND_LAB_REFERENCES_STREAM_H
#define MILLPOND_LAB_REFERENCES_STREAM_H

#include <stdint.h>

#include "lab/references/reference.h"

/* The first word of a record; behind it its operands. */
enum millpond_record {
    millpond_record_none = 0,
    millpond_record_thread = 1,   /* thread * 2 + in the allocator: from here on this thread runs */
    millpond_record_enter = 2,    /* entry (millpond_entry): a call of the allocator begins */
    millpond_record_leave = 3,    /* and ends */
    millpond_record_allocate = 4, /* address, bytes, context, flags (millpond_allocate_flag) */
    millpond_record_free = 5,     /* address, flags */
    millpond_record_system = 6,   /* address, bytes * 2 + stored: memory that a system call read or wrote */
    millpond_record_signal = 7,   /* number: a handler begins on this thread; 0: the thread ends (resume follows) */
    millpond_record_resume = 8,   /* in the allocator: a handler has ended; what it interrupted goes on */
    millpond_record_gap = 9,      /* instructions that were not captured; 0: main begins */
    millpond_first_exit = 16      /* + number of the exit, + 2^32 * its roots; then these */
};

enum millpond_allocate_flag {
    millpond_flag_realloc = 1, /* the second half of a realloc, or its first */
    millpond_flag_zeroed = 2,
    millpond_flag_alignment_shift = 8 /* log2 of an alignment above the default */
};

/* The entry of a call: which function (heap_functions.h, below 64), and the middle bits of its stack pointer. These are
 * enough, for the stack was accessed near there before; all of them would take longer than the rest of the record. */
static inline uint64_t millpond_entry(uint64_t function, uint64_t stack_pointer) {
    return function | 64 | (stack_pointer >> 4 & 127) << 7;
}
static inline unsigned millpond_entry_function(uint64_t entry) { return (unsigned)(entry & 63); }
/* The stack pointer at the entry, which is 8 behind a multiple of 16, by an address within 1 KiB of it. */
static inline uint64_t millpond_entry_pointer(uint64_t entry, uint64_t near) {
    if ((entry & 64) == 0) return near; /* older recordings have none */
    const int64_t distance = (int64_t)(((entry >> 7) - (near >> 4)) << 57) >> 57;
    return (((near >> 4) + (uint64_t)distance) << 4) + 8;
}

/* Operands of a record that is not an exit. */
static inline unsigned millpond_operands(uint64_t record) {
    static const uint8_t operands[millpond_first_exit] = {0, 1, 1, 0, 4, 2, 2, 1, 1, 1};
    return operands[record];
}

static inline uint64_t millpond_exit_word(uint64_t number, uint64_t roots) {
    return roots << 32 | (millpond_first_exit + number);
}
static inline uint32_t millpond_exit_number(uint64_t word) { return (uint32_t)word - millpond_first_exit; }
static inline uint32_t millpond_exit_roots(uint64_t word) { return (uint32_t)(word >> 32); }

/* One access of a superblock: its address is offset, or a root plus offset. Laid out as millpond_reference is, so that
 * expansion copies bytes and kind in one step. */
struct millpond_access {
    int64_t offset;
    uint16_t root;    /* which word behind the exit's, from 1; 0: none */
    uint16_t guarded; /* 1: it did not happen where the root is 0 */
    uint16_t bytes;
    uint8_t kind; /* millpond_reference_kind */
    uint8_t unused;
};

/* A reference is of so many bytes at most: longer accesses are several. */
enum { millpond_piece_bytes = 64 };

/* One way to leave a superblock: the accesses, roots and instructions up to there. */
struct millpond_exit {
    uint32_t first_access; /* of the superblock, in the table's accesses */
    uint32_t first_root;   /* of the superblock, among all roots of the table */
    uint16_t accesses;
    uint16_t roots;
    uint16_t instructions;
    uint16_t stores; /* of the accesses; the rest are loads */
    uint16_t modifications;
    uint16_t is_plain; /* 1: each access is one reference: none is guarded or longer than a piece */
};

/* Fills in what follows from the accesses. */
static inline void millpond_describe_exit(struct millpond_exit* exit, const struct millpond_access* accesses) {
    exit->stores = exit->modifications = 0;
    exit->is_plain = 1;
    for (uint16_t i = 0; i < exit->accesses; ++i) {
        const struct millpond_access* const access = &accesses[exit->first_access + i];
        exit->stores += access->kind == millpond_store;
        exit->modifications += access->kind == millpond_modify;
        if (access->guarded || access->bytes > millpond_piece_bytes) exit->is_plain = 0;
    }
}

struct millpond_superblock {
    uint64_t address;
    uint32_t first_exit;
    uint32_t first_access;
    uint32_t first_root;
    uint16_t exits;
    uint16_t accesses;
    uint16_t roots;
    uint16_t unused;
};

struct millpond_table {
    const struct millpond_superblock* superblocks;
    const struct millpond_exit* exits;
    const struct millpond_access* accesses;
    uint32_t superblock_count;
    uint32_t exit_count;
    uint32_t access_count;
    uint32_t root_count;
};

/* The words that can follow one another without a check: one record of the longest kind. */
enum { millpond_record_words_max = 1024 };

#endif
