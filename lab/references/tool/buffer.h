/* SPDX-License-Identifier: GPL-2.0-or-later
 * buffer: holds the words of the stream that translated code writes, until they are passed on.
 *
 *   guest state of the running thread: │ registers │ shadow: … cursor ▼ watch … │
 *   buffer:  │ exit │ root │ exit │ root │ root │ ▲      │ full │ room for a record of the longest kind │
 *
 * While a thread runs translated code, the cursor lies in its guest state, where code reaches it by one instruction;
 * otherwise in `buffer_cursor`. One bit of the cursor tells whether the buffer is full. Valgrind runs one thread at a
 * time, so there is one buffer and one order. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_BUFFER_H
#define MILLPOND_LAB_REFERENCES_TOOL_BUFFER_H

#include "lab/references/stream.h"
#include "lab/references/tool/valgrind_headers.h"

enum {
    buffer_words = 1 << 11, /* small enough for the first-level cache, next to the program's data */
    /* Set in the address of a full buffer's cursor: the buffer ends at a multiple of it, and the room does not reach
     * the next. */
    buffer_full_bit = 1 << 17,
    /* Code that runs on within so many bytes need not look whether the buffer is full: the room behind it suffices. */
    buffer_window_bytes = 1024,
    buffer_room_words = 3 * millpond_record_words_max + 8 * buffer_window_bytes,
    /* Offsets in the first shadow area of the guest state; the registers there are not used by any other. */
    slot_cursor = 16,
    slot_watch = 24 /* stack pointer above which the call of the allocator that is open has ended; all ones: none */
};

extern ULong* buffer_cursor;
/* thread * 2 + in the allocator, as the records so far say. */
extern ULong buffer_state;

/* Says who takes the words: whole records, between `first` and `last`. Call it once, before the program runs. */
void buffer_pass_to(void (*take)(const ULong* first, const ULong* last));
/* Returns the position in the stream of the buffer's first word: the number of words that were passed on. */
ULong buffer_first(void);
/* Returns the time of a captured process, which is the position in the stream: the number of words written so far.
 * While words are being passed on, they count as written. */
ULong buffer_now(void);
/* Passes the words on and empties the buffer. */
void buffer_flush(void);
/* Appends a record. Not in translated code: its helpers fetch the cursor first. */
void buffer_put(ULong record, ULong a, ULong b, ULong c, ULong d);

/* Between translated code and a helper that it calls. */
void buffer_fetch(const UChar* guest_state);
void buffer_store(UChar* guest_state);
/* Helper: the buffer is full. */
void buffer_on_full(UChar* guest_state);

/* Moves the cursor, and the thread's watched stack pointer, into the guest state of a thread that is about to run; and
 * the cursor back. */
void buffer_enter_client(ThreadId thread, Addr watch);
void buffer_leave_client(ThreadId thread);
/* Discards the words that were not passed on. */
void buffer_drop(void);

#endif
