/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/sink.h"

#include "lab/references/encoder.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/code_table.h"
#include "lab/references/tool/simulating.h"
#include "lab/references/tool/trace_file.h"

enum {
    block_words_max = 4 << 20,
    block_bytes_max = 8 << 20,
    words_max = buffer_words + buffer_room_words /* that are taken at a time */
};

capture_bounds bounds;

static struct millpond_encoder encoder;
static struct millpond_prediction* prediction;
static UInt root_room;
static UChar* columns[millpond_columns];
static SizeT column_room[millpond_columns];
static ULong block_state;    /* thread * 2 + in the allocator: at the block's start … */
static ULong state_before;   /* … and where the next words begin */
static ULong block_first;    /* position of the block's first word */
static Bool is_open = False; /* a block has words */

/* ---- blocks ---- */

static SizeT column_bytes(UInt i) { return encoder.cursors[i] - columns[i]; }

static void make_room(SizeT words) {
    for (UInt i = 0; i < millpond_columns; ++i) {
        const SizeT used = columns[i] == NULL ? 0 : column_bytes(i);
        if (used + millpond_column_room(words) <= column_room[i]) continue;
        column_room[i] = 2 * used + millpond_column_room(words);
        columns[i] = VG_(realloc)("sink.column", columns[i], column_room[i]);
        encoder.cursors[i] = columns[i] + used;
    }
    if (code_table.root_count > root_room) {
        const UInt before = root_room;
        root_room = 2 * code_table.root_count;
        prediction->roots = VG_(realloc)("sink.roots", prediction->roots, root_room * sizeof prediction->roots[0]);
        VG_(memset)(prediction->roots + before, 0, (root_room - before) * sizeof prediction->roots[0]);
    }
}

static void begin_block(void) {
    struct millpond_root_memory* roots = prediction->roots;
    VG_(memset)(prediction, 0, sizeof *prediction);
    VG_(memset)(roots, 0, root_room * sizeof roots[0]);
    prediction->roots = roots;
    for (UInt i = 0; i < millpond_columns; ++i) encoder.cursors[i] = columns[i];
    encoder.prediction = prediction;
    millpond_encoder_begin(&encoder);
    block_state = state_before;
    block_first = buffer_first();
    is_open = True;
}

static void write_block(void) {
    UChar numbers[16 * 9];
    UChar* to = numbers;
    SizeT lengths[millpond_columns];
    const UChar* parts[1 + millpond_columns];
    SizeT bytes[1 + millpond_columns];
    if (!is_open) return;
    millpond_encoder_end(&encoder);
    to = mpt_put(to, encoder.words);
    to = mpt_put(to, encoder.references);
    to = mpt_put(to, encoder.instructions);
    to = mpt_put(to, block_state);
    for (UInt i = 0; i < millpond_columns; ++i) {
        lengths[i] = column_bytes(i);
        to = mpt_put(to, lengths[i]);
    }
    parts[0] = numbers;
    bytes[0] = to - numbers;
    for (UInt i = 0; i < millpond_columns; ++i) {
        parts[1 + i] = columns[i];
        bytes[1 + i] = lengths[i];
    }
    trace_file_write_references(parts, bytes, 1 + millpond_columns, block_first);
    is_open = False;
}

static void encode(const ULong* first, const ULong* last) {
    if (first == last) return;
    if (simulating_is_asked()) {
        simulating_take(first, last, state_before);
        return;
    }
    make_room(last - first);
    if (!is_open) begin_block();
    millpond_encode(&encoder, code_table.exits, (const uint64_t*)first, (const uint64_t*)last);
    SizeT bytes = 0;
    for (UInt i = 0; i < millpond_columns; ++i) bytes += column_bytes(i);
    if (encoder.words >= block_words_max || bytes >= block_bytes_max) write_block();
}

/* ---- bounds ---- */

typedef enum { waiting, capturing, pausing, done } phases;
static phases phase = capturing;
static Bool gate_closed;
static Bool is_bounded;
static ULong left;    /* instructions until the phase changes; of `capturing` only where bounded */
static ULong budget;  /* instructions yet to be captured; 0: without limit */
static ULong skipped; /* instructions since the last that was captured */

static ULong pieces[3 * words_max]; /* a gap of two words before each exit */

static void set_capturing(void) {
    phase = capturing;
    left = bounds.burst != 0 ? bounds.burst : ~0ULL;
    if (bounds.instructions != 0 && budget < left) left = budget;
}

/* Follows one exit; returns whether it is captured. */
static Bool count_exit(const struct millpond_exit* exit) {
    const ULong n = exit->instructions;
    if (phase == done || gate_closed) return False;
    if (phase == capturing) {
        if (bounds.instructions != 0) budget -= n < budget ? n : budget;
        left -= n < left ? n : left;
        if (left == 0) {
            const Bool exhausted = bounds.instructions != 0 && budget == 0;
            phase = exhausted ? done : pausing;
            left = bounds.period - bounds.burst;
        }
        return True;
    }
    left -= n < left ? n : left;
    if (left == 0) set_capturing();
    return False;
}

/* Copies what is captured: records of the heap and of threads always, exits and system calls within bounds. */
static void take_bounded(const ULong* first, const ULong* last) {
    ULong* to = pieces;
    while (first < last) {
        const ULong word = *first;
        const UInt words = 1 + (word >= millpond_first_exit ? millpond_exit_roots(word) : millpond_operands(word));
        Bool kept = True;
        if (word >= millpond_first_exit) {
            const struct millpond_exit* exit = &code_table.exits[millpond_exit_number(word)];
            kept = count_exit(exit);
            if (!kept) skipped += exit->instructions;
        } else if (word == millpond_record_system) {
            kept = phase == capturing && !gate_closed;
        }
        if (kept) {
            if (word >= millpond_first_exit && skipped != 0) {
                *to++ = millpond_record_gap;
                *to++ = skipped;
                skipped = 0;
            }
            VG_(memcpy)(to, first, words * sizeof *to);
            to += words;
        }
        first += words;
    }
    encode(pieces, to);
}

void sink_start(void) {
    if (prediction == NULL) prediction = VG_(calloc)("sink.prediction", 1, sizeof *prediction);
    if (simulating_is_asked()) simulating_start();
    is_open = False;
    state_before = buffer_state;
    is_bounded = bounds.from != 0 || bounds.instructions != 0 || bounds.period != 0 || gate_closed;
    budget = bounds.instructions;
    skipped = 0;
    if (bounds.from != 0) {
        phase = waiting;
        left = bounds.from;
    } else {
        set_capturing();
    }
}

void sink_take(const ULong* first, const ULong* last) {
    if (!bounds.discard && trace_file_is_open()) {
        if (is_bounded)
            take_bounded(first, last);
        else
            encode(first, last);
    }
    state_before = buffer_state;
}

void sink_finish(void) {
    if (simulating_is_asked())
        simulating_write();
    else
        write_block();
}
void sink_close_gate(void) { gate_closed = is_bounded = True; }
void sink_open_gate(void) { gate_closed = False; }
Bool sink_is_done(void) { return phase == done; }
