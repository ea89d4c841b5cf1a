/* SPDX-License-Identifier: BSL-1.0
 * encoder: turns words of the stream (stream.h) into the columns of one block of references.
 *
 *   words ─▶ runs      the number of exits as predicted
 *            jumps     the exit or record that was not predicted
 *            operands  of records
 *            codes     one for each root
 *            misses    differences of the roots that were not predicted
 *
 * The caller provides the columns: each has room for millpond_column_room(words) more bytes before words are encoded.
 * Freestanding C11, no allocation. About 10 ns a word. */
#ifndef MILLPOND_LAB_REFERENCES_ENCODER_H
#define MILLPOND_LAB_REFERENCES_ENCODER_H

#include <stddef.h>

#include "lab/references/prediction.h"
#include "lab/references/stream.h"
#include "lab/trace/writer.h"

enum millpond_column {
    millpond_runs,
    millpond_jumps,
    millpond_operands_column,
    millpond_codes,
    millpond_misses,
    millpond_columns
};

struct millpond_encoder {
    struct millpond_prediction* prediction;
    uint8_t* cursors[millpond_columns];
    uint64_t run;
    uint64_t words, references, instructions; /* of this block */
};

static inline size_t millpond_column_room(size_t words) { return 9 * words + 16; }

/* A fresh block: the prediction is all zeros, and `cursors` stand at the columns' beginnings. */
static inline void millpond_encoder_begin(struct millpond_encoder* e) {
    e->run = e->words = e->references = e->instructions = 0;
}

static inline void millpond_encode_roots(struct millpond_encoder* e, const uint64_t* values,
                                         const struct millpond_exit* exit) {
    struct millpond_prediction* p = e->prediction;
    uint8_t* codes = e->cursors[millpond_codes];
    for (uint32_t i = 0; i < exit->roots; ++i) {
        const uint64_t value = values[i];
        struct millpond_root_memory* root = &p->roots[exit->first_root + i];
        uint64_t* const follower = millpond_follower(p, root->last, exit->first_root + i);
        if (value - root->last == root->stride) {
            *codes++ = millpond_value_strides;
        } else if (*follower == value) {
            *codes++ = millpond_value_follows;
        } else if (value == root->last) {
            *codes++ = millpond_value_same;
        } else if (value == root->before) {
            *codes++ = millpond_value_alternates;
        } else {
            const uint64_t from_last = mpt_zigzag((int64_t)(value - root->last));
            const uint64_t from_neighbour = mpt_zigzag((int64_t)(value - p->neighbour));
            const int is_near = from_neighbour < from_last;
            *codes++ = is_near ? millpond_value_from_neighbour : millpond_value_from_last;
            e->cursors[millpond_misses] = mpt_put(e->cursors[millpond_misses], is_near ? from_neighbour : from_last);
        }
        millpond_learn(root, follower, value);
        p->neighbour = value;
    }
    e->cursors[millpond_codes] = codes;
    e->references += exit->accesses;
    e->instructions += exit->instructions;
}

static inline void millpond_encode_operands(struct millpond_encoder* e, uint64_t record, const uint64_t* operands) {
    const unsigned count = millpond_operands(record);
    uint8_t* to = e->cursors[millpond_operands_column];
    for (unsigned i = 0; i < count; ++i) {
        uint64_t value = operands[i];
        if (i == 0 && millpond_has_address(record)) {
            value = mpt_zigzag((int64_t)(value - e->prediction->address));
            e->prediction->address = operands[0];
        }
        to = mpt_put(to, value);
    }
    e->cursors[millpond_operands_column] = to;
}

/* Takes whole records from `at` up to `end`. `exits`: of the table that has all of theirs. */
static inline void millpond_encode(struct millpond_encoder* e, const struct millpond_exit* exits, const uint64_t* at,
                                   const uint64_t* end) {
    struct millpond_prediction* p = e->prediction;
    e->words += (uint64_t)(end - at);
    while (at < end) {
        const uint32_t word = (uint32_t)*at++; /* without the roots: the table has them */
        uint32_t* const successor = millpond_successor(p);
        if (*successor == word) {
            ++e->run;
        } else {
            e->cursors[millpond_runs] = mpt_put(e->cursors[millpond_runs], e->run);
            e->cursors[millpond_jumps] =
                mpt_put(e->cursors[millpond_jumps], mpt_zigzag((int64_t)word - (int64_t)p->latest));
            e->run = 0;
            *successor = word;
        }
        millpond_advance(p, word);
        if (word >= millpond_first_exit) {
            const struct millpond_exit* exit = &exits[millpond_exit_number(word)];
            millpond_encode_roots(e, at, exit);
            at += exit->roots;
        } else {
            millpond_encode_operands(e, word, at);
            at += millpond_operands(word);
        }
    }
}

/* The run that is open goes out. */
static inline void millpond_encoder_end(struct millpond_encoder* e) {
    e->cursors[millpond_runs] = mpt_put(e->cursors[millpond_runs], e->run);
    e->run = 0;
}

#endif
