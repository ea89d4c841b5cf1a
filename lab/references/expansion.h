/* SPDX-License-Identifier: BSL-1.0
 * expansion: turns words of the stream into references, each with its address.
 *
 *   words, table ─▶ millpond_expand ─▶ batches of millpond_reference
 *                                  └▶ stops at a record of the heap, of threads or signals: the caller's
 *
 * A reference of more than a cache line's 64 bytes goes out in pieces that end at multiples of 64, so that none touches
 * more than two lines. Freestanding C11, no allocation; 1 to 3 ns a reference. */
#ifndef MILLPOND_LAB_REFERENCES_EXPANSION_H
#define MILLPOND_LAB_REFERENCES_EXPANSION_H

#include <stddef.h>

#include "lab/references/reference.h"
#include "lab/references/stream.h"

enum { millpond_piece_bytes = 64, millpond_batch_room_min = 2048 };

struct millpond_expansion {
    const struct millpond_table* table;
    uint64_t thread;
    uint64_t instructions[2];            /* so far: of the program, in the allocator */
    uint64_t piece_address, piece_bytes; /* what is left of a system call's memory */
    uint8_t piece_kind;
    uint8_t origin;      /* of what runs */
    uint8_t with_system; /* whether references of system calls go out */
    uint8_t unused[5];
};

/* The state that a block says its first words have: thread * 2 + in the allocator. */
static inline void millpond_set_state(struct millpond_expansion* e, uint64_t state) {
    e->thread = state >> 1;
    e->origin = (state & 1) != 0 ? millpond_of_allocator : millpond_of_program;
}

/* Follows a record at which millpond_expand has stopped. */
static inline void millpond_follow(struct millpond_expansion* e, const uint64_t* record) {
    switch (record[0]) {
        case millpond_record_thread:
            millpond_set_state(e, record[1]);
            break;
        case millpond_record_enter:
            e->origin = millpond_of_allocator;
            break;
        case millpond_record_leave:
        case millpond_record_signal:
            e->origin = millpond_of_program;
            break;
        case millpond_record_resume:
            e->origin = record[1] != 0 ? millpond_of_allocator : millpond_of_program;
            break;
        default:
            break;
    }
}

static inline struct millpond_reference* millpond_put_reference(struct millpond_reference* out, uint64_t address,
                                                                uint64_t bytes, uint8_t kind, uint8_t origin) {
    out->address = address;
    out->subject = 0;
    out->bytes = (uint16_t)bytes;
    out->kind = kind;
    out->origin = origin;
    return out + 1;
}

static inline struct millpond_reference* millpond_expand_pieces(struct millpond_expansion* e,
                                                                struct millpond_reference* out,
                                                                const struct millpond_reference* limit,
                                                                uint8_t origin) {
    while (e->piece_bytes > 0 && out < limit) {
        uint64_t bytes = millpond_piece_bytes - (e->piece_address & (millpond_piece_bytes - 1));
        if (bytes > e->piece_bytes) bytes = e->piece_bytes;
        out = millpond_put_reference(out, e->piece_address, bytes, e->piece_kind, origin);
        e->piece_address += bytes;
        e->piece_bytes -= bytes;
    }
    return out;
}

static inline struct millpond_reference* millpond_expand_exit(struct millpond_expansion* e, uint64_t number,
                                                              const uint64_t* roots, struct millpond_reference* out) {
    const struct millpond_exit* exit = &e->table->exits[number];
    const struct millpond_access* access = &e->table->accesses[exit->first_access];
    const struct millpond_access* const last = access + exit->accesses;
    e->instructions[e->origin] += exit->instructions;
    for (; access < last; ++access) {
        const uint64_t root = access->root == millpond_no_root ? 0 : roots[access->root];
        const uint64_t address = root + (uint64_t)access->offset;
        if (access->guarded && root == 0) continue;
        if (access->bytes > millpond_piece_bytes) {
            e->piece_address = address;
            e->piece_bytes = access->bytes;
            e->piece_kind = access->kind;
            out = millpond_expand_pieces(e, out, out + access->bytes, e->origin);
            continue;
        }
        out = millpond_put_reference(out, address, access->bytes, access->kind, e->origin);
    }
    return out;
}

/* Fills `out`, which has `room` for at least millpond_batch_room_min, from whole records between *at and end. Returns
 * how many; *at is then at the end, at a record that is the caller's, or where the room was too little. */
static inline size_t millpond_expand(struct millpond_expansion* e, const uint64_t** at, const uint64_t* end,
                                     struct millpond_reference* out, size_t room) {
    struct millpond_reference* to = out;
    const struct millpond_reference* const limit = out + room;
    const struct millpond_reference* const full = limit - millpond_batch_room_min;
    to = millpond_expand_pieces(e, to, limit, millpond_of_system);
    while (*at < end && to <= full && e->piece_bytes == 0) {
        const uint64_t word = **at;
        if (word >= millpond_first_exit) {
            to = millpond_expand_exit(e, word - millpond_first_exit, *at + 1, to);
            *at += 1 + e->table->exits[word - millpond_first_exit].roots;
        } else if (word == millpond_record_system) {
            e->piece_address = (*at)[1];
            e->piece_bytes = e->with_system ? (*at)[2] >> 1 : 0;
            e->piece_kind = ((*at)[2] & 1) != 0 ? millpond_store : millpond_load;
            *at += 3;
            to = millpond_expand_pieces(e, to, limit, millpond_of_system);
        } else {
            break;
        }
    }
    return (size_t)(to - out);
}

#endif
