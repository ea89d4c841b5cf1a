/* SPDX-License-Identifier: BSL-1.0
 * expansion: turns words of the stream into references, each with its address.
 *
 *   words, table ─▶ millpond_expand ─▶ batches of millpond_reference
 *                                  └▶ stops at a record of the heap, of threads or signals, for the caller
 *
 * A reference of more than 64 bytes (a cache line) is split into pieces that end at multiples of 64, so that no piece
 * touches more than two lines. Freestanding C11, no allocation; 1 to 3 ns a reference. */
#ifndef MILLPOND_LAB_REFERENCES_EXPANSION_H
#define MILLPOND_LAB_REFERENCES_EXPANSION_H

#include <stddef.h>

#include "lab/references/stream.h"

enum { millpond_batch_room_min = 2048 };

struct millpond_expansion {
    const struct millpond_table* table;
    uint64_t thread;
    uint64_t instructions[2];            /* so far: of the program, in the allocator */
    uint64_t stores, modifications;      /* so far, of all references */
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

static inline struct millpond_reference* millpond_put_reference(struct millpond_expansion* e,
                                                                struct millpond_reference* out, uint64_t address,
                                                                uint64_t bytes, uint8_t kind, uint8_t origin) {
    e->stores += kind == millpond_store;
    e->modifications += kind == millpond_modify;
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
        out = millpond_put_reference(e, out, e->piece_address, bytes, e->piece_kind, origin);
        e->piece_address += bytes;
        e->piece_bytes -= bytes;
    }
    return out;
}

/* Every access is a reference, so no branch depends on one. Bytes and kind lie in both at the same place (stream.h) and
 * are copied as one word; its low half, the access's root and guard, becomes the subject 0. */
static inline struct millpond_reference* millpond_expand_plain(const struct millpond_access* access,
                                                               const struct millpond_access* last,
                                                               const uint64_t* words, uint8_t origin,
                                                               struct millpond_reference* out) {
    const uint64_t of_all = (uint64_t)origin << 56;
    for (; access < last; ++access, ++out) {
        uint64_t rest;
        __builtin_memcpy(&rest, &access->root, sizeof rest);
        const uint64_t root = words[rest & 0xFFFF];
        out->address = (uint64_t)access->offset + ((rest & 0xFFFF) != 0 ? root : 0);
        rest = (rest >> 32 << 32) | of_all;
        __builtin_memcpy(&out->subject, &rest, sizeof rest);
    }
    return out;
}

/* `words`: those of the exit, starting with the exit itself. */
static inline struct millpond_reference* millpond_expand_exit(struct millpond_expansion* e,
                                                              const struct millpond_exit* exit, const uint64_t* words,
                                                              struct millpond_reference* out) {
    const struct millpond_access* access = &e->table->accesses[exit->first_access];
    const struct millpond_access* const last = access + exit->accesses;
    e->instructions[e->origin] += exit->instructions;
    for (; access < last; ++access) {
        const uint64_t root = access->root == 0 ? 0 : words[access->root];
        const uint64_t address = root + (uint64_t)access->offset;
        if (access->guarded && root == 0) continue;
        if (access->bytes > millpond_piece_bytes) {
            e->piece_address = address;
            e->piece_bytes = access->bytes;
            e->piece_kind = access->kind;
            out = millpond_expand_pieces(e, out, out + access->bytes, e->origin);
            continue;
        }
        out = millpond_put_reference(e, out, address, access->bytes, access->kind, e->origin);
    }
    return out;
}

/* Takes plain exits, until something else comes, the words end or `out` lies behind `full`. */
static inline struct millpond_reference* millpond_expand_plain_exits(struct millpond_expansion* e, const uint64_t** at,
                                                                     const uint64_t* end,
                                                                     struct millpond_reference* out,
                                                                     const struct millpond_reference* full) {
    const struct millpond_exit* const exits = e->table->exits;
    const struct millpond_access* const accesses = e->table->accesses;
    const uint64_t* words = *at;
    uint64_t instructions = 0, stores = 0, modifications = 0;
    while (words < end && out <= full && *words >= millpond_first_exit) {
        const struct millpond_exit* const exit = &exits[millpond_exit_number(*words)];
        if (!exit->is_plain) break;
        const struct millpond_access* const access = &accesses[exit->first_access];
        instructions += exit->instructions;
        stores += exit->stores;
        modifications += exit->modifications;
        out = millpond_expand_plain(access, access + exit->accesses, words, e->origin, out);
        words += 1 + millpond_exit_roots(*words);
    }
    *at = words;
    e->instructions[e->origin] += instructions;
    e->stores += stores;
    e->modifications += modifications;
    return out;
}

/* Fills `out`, which has `room` for at least millpond_batch_room_min, from whole records between *at and end. Returns
 * the number of references. *at is then at the end, at a record for the caller, or where the room ended. */
static inline size_t millpond_expand(struct millpond_expansion* e, const uint64_t** at, const uint64_t* end,
                                     struct millpond_reference* out, size_t room) {
    struct millpond_reference* to = out;
    const struct millpond_reference* const limit = out + room;
    const struct millpond_reference* const full = limit - millpond_batch_room_min;
    to = millpond_expand_pieces(e, to, limit, millpond_of_system);
    while (e->piece_bytes == 0) {
        to = millpond_expand_plain_exits(e, at, end, to, full);
        if (*at == end || to > full) break;
        const uint64_t word = **at;
        if (word >= millpond_first_exit) {
            to = millpond_expand_exit(e, &e->table->exits[millpond_exit_number(word)], *at, to);
            *at += 1 + millpond_exit_roots(word);
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
