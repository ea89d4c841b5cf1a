/* SPDX-License-Identifier: BSL-1.0
 * prediction: predicts the next word of a stream; the writing and the reading side compute the same.
 *
 *   exit after exits:  the exit that followed the last two the last time
 *   value of a root:   its last value and its last stride │ the value that followed this value │ its last value │ the
 *                      value before that │ else a difference, to its last value or to the word before
 *
 * A correct prediction costs a small code, which repeats and compresses well. All memory starts as zero with each
 * block, so that a block is decoded without those before it. Freestanding C11; about 10 ns a word. */
#ifndef MILLPOND_LAB_REFERENCES_PREDICTION_H
#define MILLPOND_LAB_REFERENCES_PREDICTION_H

#include <stdint.h>

enum {
    millpond_successor_bits = 16,
    millpond_follower_bits = 16,
};

enum millpond_value_code {
    millpond_value_strides = 0,
    millpond_value_follows = 1,
    millpond_value_same = 2,
    millpond_value_alternates = 3,
    millpond_value_from_last = 4,     /* + a difference */
    millpond_value_from_neighbour = 5 /* + a difference */
};

struct millpond_root_memory {
    uint64_t last, stride, before;
};

struct millpond_prediction {
    struct millpond_root_memory* roots; /* of all superblocks; the caller's */
    uint64_t neighbour;                 /* the latest value that was not predicted, or the root before */
    uint64_t address;                   /* of the latest record that has one */
    uint32_t latest, second_latest;     /* exits and records */
    uint32_t successors[1 << millpond_successor_bits];
    uint64_t followers[1 << millpond_follower_bits];
};

static inline uint32_t* millpond_successor(struct millpond_prediction* p) {
    const uint64_t mixed = (p->latest * 0x9E3779B97F4A7C15ull) ^ (p->second_latest * 0xC2B2AE3D27D4EB4Full);
    return &p->successors[(mixed * 0x9E3779B97F4A7C15ull) >> (64 - millpond_successor_bits)];
}

static inline void millpond_advance(struct millpond_prediction* p, uint32_t word) {
    p->second_latest = p->latest;
    p->latest = word;
}

static inline uint64_t* millpond_follower(struct millpond_prediction* p, uint64_t last, uint32_t root) {
    const uint64_t mixed = (last * 0x9E3779B97F4A7C15ull) ^ (root * 0xC2B2AE3D27D4EB4Full);
    return &p->followers[(mixed * 0x9E3779B97F4A7C15ull) >> (64 - millpond_follower_bits)];
}

static inline void millpond_learn(struct millpond_root_memory* root, uint64_t* follower, uint64_t value) {
    *follower = value;
    root->stride = value - root->last;
    root->before = root->last;
    root->last = value;
}

/* Returns whether the first operand of a record is an address. */
static inline int millpond_has_address(uint64_t record) { return record >= 4 && record <= 6; }

#endif
