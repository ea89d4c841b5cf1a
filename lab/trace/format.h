/* SPDX-License-Identifier: BSL-1.0
 * format: the constants and the block header of a trace, shared by every writer and reader
 * (docs/reference/trace_format.md).
 * Freestanding C11, so that a recorder, a Valgrind tool and C++ readers compile the same text. */
#ifndef MILLPOND_LAB_TRACE_FORMAT_H
#define MILLPOND_LAB_TRACE_FORMAT_H

#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are written and read as little-endian memory"
#endif

enum {
    mpt_frame_magic = 0x184D2A5D,   /* zstd skippable frame that carries a block */
    mpt_trailer_magic = 0x184D2A5E, /* zstd skippable frame that carries the offset of the index */
    mpt_magic = 0x4254504D,         /* "MPTB" */
    mpt_version = 1,
    mpt_version_sampled = 2, /* the same, of a sample of the allocations: to be read with weights */
    mpt_version_ring = 3,    /* the same, of its last part: older events are those of blocks that were alive then */
    mpt_version_last = mpt_version_ring,
    mpt_header_bytes = 64,
    mpt_frame_prefix_bytes = 8,
    mpt_event_bytes_max = 64 /* no encoded event is longer */
};

enum mpt_kind {
    mpt_process = 1,
    mpt_modules = 2,
    mpt_contexts = 3,
    mpt_events = 4,
    mpt_end = 5,
    mpt_index = 6,
    mpt_superblocks = 7, /* of a captured process: lab/references */
    mpt_references = 8,
    mpt_counts = 9,  /* what simulators counted on its references */
    mpt_regions = 10 /* where its stacks and the data of its modules lie */
};
/* Offsets of nodes of contexts without a module. */
enum mpt_offset {
    mpt_offset_generated = 0, /* code without a file */
    mpt_offset_cut = 1,       /* the stack was cut here */
    mpt_offset_frees = 2      /* no frame: its caller is a context that frees */
};
enum mpt_region {
    mpt_region_stack = 1,
    mpt_region_data = 2,
    mpt_region_break = 3,     /* what brk has given; it begins where the program's break began */
    mpt_region_variables = 4, /* of the first thread, around its thread pointer, which is mpt_variables_before behind */
    mpt_region_main = 5       /* the first byte of main, which has begun; a gap of 0 instructions says when */
};
enum { mpt_variables_before = 4096, mpt_variables_behind = 2304 };
enum mpt_codec { mpt_raw = 0, mpt_zstd = 1 };
enum mpt_layout { mpt_rows = 0, mpt_columns = 1 };

/* The last three are in FILE.partial only: changes of the stack give their context (docs/reference/trace_format.md). */
enum mpt_operation {
    mpt_free = 0,
    mpt_allocate = 1,
    mpt_realloc_free = 2,
    mpt_realloc_allocate = 3,
    mpt_note = 4,
    mpt_stepped_allocate = 5,
    mpt_steps = 6, /* no event: frames that returned and were entered */
    mpt_stepped_realloc_allocate = 7
};
enum {
    mpt_stepped = mpt_stepped_allocate - mpt_allocate, /* what makes an allocation one with steps */
    mpt_entered_bits = 4,                              /* of the number of frames entered; those returned lie above */
    mpt_entered_with_event_max = 4,
    mpt_entered_max = 12 /* at once, without an event */
};
enum mpt_tag {
    mpt_operation_mask = 7,
    mpt_has_time = 8,
    mpt_has_duration = 16,
    mpt_has_alignment = 32,
    mpt_zeroed = 64,
    mpt_byte_address = 128
};
enum mpt_note_subject {
    mpt_note_thread_end = 1,
    mpt_note_lost = 2,
    mpt_note_returned = 3,
    mpt_note_entered = 4, /* an activation of a scope begins; value: the scope's node of contexts */
    mpt_note_left = 5,    /* and ends */
    mpt_note_scope = 6,   /* value: node * 256 + mpt_scope_state */
    mpt_note_word = 7,    /* a word at the next allocation; value: word * 32 + position */
    mpt_note_cpu = 8,     /* value: the CPU nanoseconds that the thread has used so far */
    mpt_note_freed_at =
        9,              /* where this stream frees from now on: a node mpt_offset_frees, whose caller is the context */
    mpt_note_name = 10, /* the next 8 bytes of the name of this stream's next phase; the first one is the lowest */
    mpt_note_phase =
        11, /* a phase of the process begins; value: bytes of its name, 0: it has none, and ends the last */
    mpt_note_scanned = 12,  /* the heap was looked through at the process's end; value: live blocks */
    mpt_note_unreached = 13 /* value: the address of one of these that no pointer reaches */
};
enum { mpt_phase_name_max = 255 }; /* bytes; of a longer name the rest is dropped */
/* The stream of what was noted from outside the process: marks of phases, a scan. No thread of the program has this
   number. */
enum { mpt_stream_outside = 0x7fffffff };
/* The state of a scope: all its activations are in the trace, or the reason why not. */
enum mpt_scope_state {
    mpt_scope_observed = 0,
    mpt_scope_too_often = 1,    /* entered more often than the limit */
    mpt_scope_not_placed = 2,   /* no breakpoint can be written at its entry */
    mpt_scope_no_return = 3,    /* entered without a call, or from a place where no breakpoint can be written */
    mpt_scope_generated = 4,    /* called from code that belongs to no file */
    mpt_scope_other_stack = 5,  /* ran on another stack than its thread's */
    mpt_scope_interrupted = 6,  /* ran in a signal handler that interrupted the recorder, or past its thread's end */
    mpt_scope_too_deep = 7,     /* too many activations at a time, or no memory for them */
    mpt_scope_filtered = 8,     /* the program forbids itself system calls */
    mpt_scope_shadow_stack = 9, /* the process has a shadow stack */
    mpt_scope_unloaded = 10,    /* its module, or a caller's, was unloaded */
    mpt_scope_no_walk = 11      /* a stack within it cannot be walked */
};

enum mpt_process_key {
    mpt_key_pid = 1,
    mpt_key_parent = 2,
    mpt_key_executable = 3,
    mpt_key_build_id = 4,
    mpt_key_argument = 5,
    mpt_key_clock = 6,
    mpt_key_provider = 7,
    mpt_key_image = 8,
    mpt_key_first_tick = 9,
    mpt_key_recording = 10,
    mpt_key_sample = 11, /* bytes for each one that was chosen, on average */
    mpt_key_cut = 12     /* the tick from which on a ring has every event */
};
enum mpt_end_key {
    mpt_end_status = 1,
    mpt_end_signal = 2,
    mpt_end_clock = 3,
    mpt_end_lost = 4,
    mpt_end_clean = 5,
    mpt_end_stopped = 6,
    mpt_end_sampled = 7,
    mpt_end_aliased = 8,
    mpt_end_contexts = 9,
    mpt_end_failed = 10,
    mpt_end_aliased_deep = 11,
    mpt_end_reason = 12
};

typedef struct mpt_block_header {
    uint32_t frame_magic;
    uint32_t frame_bytes;
    uint32_t magic;
    uint8_t version;
    uint8_t kind;
    uint8_t codec;
    uint8_t layout;
    uint32_t thread;
    uint32_t sequence;
    uint32_t count;
    uint32_t stored_bytes;
    uint32_t payload_bytes;
    uint32_t overhead_ticks;
    uint64_t first;
    uint64_t cpu_ns;
    uint64_t checksum;
} mpt_block_header;

#endif
