/* SPDX-License-Identifier: BSL-1.0
 * writer: encodes events into one block of a trace. Freestanding C11 (memcpy and compiler built-ins only), no
 * allocation, no locks: one writer belongs to one thread, and its memory is the caller's.
 *
 *   block │ header 64 │ event │ event │ … ▲cursor           │ limit (room for one event of the longest kind)
 *
 * After every event `stored_bytes` in the header covers it, so a block that lies in a shared mapping can be
 * salvaged after its process was killed. Cost: a few nanoseconds an event; the caller flushes when mpt_full. */
#ifndef MILLPOND_LAB_TRACE_WRITER_H
#define MILLPOND_LAB_TRACE_WRITER_H

#include <string.h>

#include "lab/trace/format.h"

typedef struct mpt_writer {
    uint8_t* block;
    uint8_t* cursor;
    uint8_t* limit;
    uint64_t last_address;
    uint64_t last_time;
    uint32_t count;
} mpt_writer;

/* Writes a prefix varint; up to 9 bytes are stored at `to`, whatever the length. Returns the byte past it. */
static inline uint8_t* mpt_put(uint8_t* to, uint64_t value) {
    unsigned bits = 64u - (unsigned)__builtin_clzll(value | 1);
    if (__builtin_expect(bits > 56, 0)) {
        *to = 0;
        memcpy(to + 1, &value, 8);
        return to + 9;
    }
    unsigned length = (bits + 6) / 7;
    uint64_t word = (value << length) | (1ull << (length - 1));
    memcpy(to, &word, 8);
    return to + length;
}

static inline uint64_t mpt_zigzag(int64_t value) { return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63); }

/* Opens a block in `slot` (slot_bytes long, at least mpt_header_bytes + mpt_event_bytes_max). */
static inline void mpt_open_block(mpt_writer* w, uint8_t* slot, uint32_t slot_bytes, uint32_t thread, uint32_t sequence,
                                  uint64_t now) {
    mpt_block_header* h = (mpt_block_header*)slot;
    h->magic = 0; /* not in use while it is being changed */
    __asm__ volatile("" ::: "memory");
    h->frame_magic = (uint32_t)mpt_frame_magic;
    h->frame_bytes = mpt_header_bytes - mpt_frame_prefix_bytes;
    h->version = mpt_version;
    h->kind = mpt_events;
    h->codec = mpt_raw;
    h->layout = mpt_rows;
    h->thread = thread;
    h->sequence = sequence;
    h->count = 0;
    h->stored_bytes = 0;
    h->payload_bytes = 0;
    h->overhead_ticks = 0;
    h->first = now;
    h->cpu_ns = 0;
    h->checksum = 0;
    __asm__ volatile("" ::: "memory");
    h->magic = (uint32_t)mpt_magic;
    w->block = slot;
    w->cursor = slot + mpt_header_bytes;
    w->limit = slot + slot_bytes - mpt_event_bytes_max;
    w->last_address = 0;
    w->last_time = now;
    w->count = 0;
}

static inline int mpt_full(const mpt_writer* w) { return w->cursor > w->limit; }

static inline void mpt_commit(mpt_writer* w, uint8_t* end) {
    __asm__ volatile("" ::: "memory"); /* the event's bytes before the length that covers them */
    w->cursor = end;
    ((mpt_block_header*)w->block)->stored_bytes = (uint32_t)(end - w->block) - mpt_header_bytes;
    w->count++;
}

/* The part that every event with an address has: tag, optional time and duration, address. `time` and `duration`: 0
 * means none. */
static inline uint8_t* mpt_put_common(mpt_writer* w, unsigned tag, uint64_t address, uint64_t time, uint64_t duration) {
    uint8_t* to = w->cursor + 1;
    if (time) {
        uint64_t delta = time > w->last_time ? time - w->last_time : 0;
        w->last_time += delta;
        tag |= mpt_has_time;
        to = mpt_put(to, delta);
    }
    if (__builtin_expect(duration != 0, 0)) {
        tag |= mpt_has_duration;
        to = mpt_put(to, duration);
    }
    int64_t delta = (int64_t)(address - w->last_address);
    w->last_address = address;
    if (__builtin_expect((delta & 15) != 0, 0))
        tag |= mpt_byte_address;
    else
        delta >>= 4;
    *w->cursor = (uint8_t)tag;
    return mpt_put(to, mpt_zigzag(delta));
}

static inline void mpt_write_free(mpt_writer* w, unsigned operation, uint64_t address, uint64_t time,
                                  uint64_t duration) {
    mpt_commit(w, mpt_put_common(w, operation, address, time, duration));
}

/* `flags`: mpt_zeroed or 0; `alignment_log2`: 0 for the default alignment. */
static inline void mpt_write_allocate(mpt_writer* w, unsigned operation, unsigned flags, uint64_t address,
                                      uint64_t bytes, uint32_t context, unsigned alignment_log2, uint64_t time,
                                      uint64_t duration) {
    if (__builtin_expect(alignment_log2 != 0, 0)) flags |= mpt_has_alignment;
    uint8_t* to = mpt_put_common(w, operation | flags, address, time, duration);
    to = mpt_put(to, bytes);
    to = mpt_put(to, context);
    if (__builtin_expect(alignment_log2 != 0, 0)) *to++ = (uint8_t)alignment_log2;
    mpt_commit(w, to);
}

/* Writes the changes of the stack since the last steps: the numbers of returned and of entered frames. mpt_put of each
 * frame follows, outermost first: the number of its node without a caller. A block begins with an empty stack. At most
 * mpt_entered_with_event_max with an event, and mpt_entered_max without one, after the byte mpt_steps. */
static inline uint8_t* mpt_put_steps(uint8_t* to, uint64_t returned, uint64_t entered) {
    return mpt_put(to, returned << mpt_entered_bits | entered);
}

/* Writes an allocation up to its steps, which follow, and then its alignment_log2, if that is not 0, as a byte.
 * mpt_commit makes it part of the block. */
static inline uint8_t* mpt_put_stepped_allocate(mpt_writer* w, unsigned operation, unsigned flags, uint64_t address,
                                                uint64_t bytes, unsigned alignment_log2, uint64_t time,
                                                uint64_t duration) {
    if (__builtin_expect(alignment_log2 != 0, 0)) flags |= mpt_has_alignment;
    return mpt_put(mpt_put_common(w, (operation + mpt_stepped) | flags, address, time, duration), bytes);
}

static inline void mpt_write_note(mpt_writer* w, uint64_t subject, uint64_t value, uint64_t time) {
    uint8_t* to = w->cursor + 1;
    unsigned tag = mpt_note;
    if (time) {
        uint64_t delta = time > w->last_time ? time - w->last_time : 0;
        w->last_time += delta;
        tag |= mpt_has_time;
        to = mpt_put(to, delta);
    }
    *w->cursor = (uint8_t)tag;
    mpt_commit(w, mpt_put(mpt_put(to, subject), value));
}

#endif
