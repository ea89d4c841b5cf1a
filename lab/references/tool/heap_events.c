/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/heap_events.h"

#include "lab/references/stream.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/trace_file.h"
#include "lab/trace/writer.h"

enum { block_bytes = 1 << 16 };

typedef struct {
    mpt_writer writer;
    UInt sequence;
    Bool is_open;
    UChar block[block_bytes];
} event_stream;

static event_stream** streams; /* by thread */

static void close_block(event_stream* s) {
    if (s->is_open && s->writer.count > 0) trace_file_write_events(s->block, s->writer.count);
    s->is_open = False;
}

static mpt_writer* writer_of(ThreadId thread) {
    if (streams == NULL) streams = VG_(calloc)("heap_events", VG_N_THREADS, sizeof streams[0]);
    if (streams[thread] == NULL) streams[thread] = VG_(calloc)("heap_events.stream", 1, sizeof(event_stream));
    event_stream* s = streams[thread];
    if (s->is_open && mpt_full(&s->writer)) close_block(s);
    if (!s->is_open) {
        mpt_open_block(&s->writer, s->block, block_bytes, thread, s->sequence++, buffer_now());
        s->is_open = True;
    }
    return &s->writer;
}

void heap_events_allocate(ThreadId thread, Addr address, SizeT bytes, UInt context, UInt flags) {
    if (!trace_file_is_open()) return;
    mpt_write_allocate(writer_of(thread), flags & millpond_flag_realloc ? mpt_realloc_allocate : mpt_allocate,
                       flags & millpond_flag_zeroed ? mpt_zeroed : 0, address, bytes, context,
                       flags >> millpond_flag_alignment_shift, buffer_now(), 0);
}

void heap_events_free(ThreadId thread, Addr address, UInt flags) {
    if (!trace_file_is_open()) return;
    mpt_write_free(writer_of(thread), flags & millpond_flag_realloc ? mpt_realloc_free : mpt_free, address,
                   buffer_now(), 0);
}

void heap_events_finish(void) {
    for (ThreadId i = 0; streams != NULL && i < VG_N_THREADS; ++i)
        if (streams[i] != NULL) close_block(streams[i]);
}

void heap_events_drop(void) {
    for (ThreadId i = 0; streams != NULL && i < VG_N_THREADS; ++i) {
        if (streams[i] == NULL) continue;
        streams[i]->is_open = False;
        streams[i]->sequence = 0;
    }
}
