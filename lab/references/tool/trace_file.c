/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/trace_file.h"

#include "lab/references/tool/buffer.h"
#include "lab/references/tool/channel.h"
#include "lab/references/tool/code_table.h"
#include "lab/references/tool/contexts.h"
#include "lab/references/tool/regions.h"
#include "lab/trace/seal.h"
#include "lab/trace/writer.h"

enum { closed = 0, part_bytes = 1 << 16, cannot = 38 /* ENOSYS */ };

static ULong stream = closed; /* of this process image */
static UInt superblocks_written, contexts_written, regions_written, sequences[16];

/* ---- payloads ---- */

static UChar* payload; /* grows */
static SizeT payload_room;
static UChar* payload_end;

static void payload_begin(void) { payload_end = payload; }

static void payload_reserve(SizeT bytes) {
    const SizeT used = payload_end - payload;
    if (used + bytes + 16 <= payload_room) return;
    payload_room = 2 * (used + bytes) + part_bytes;
    payload = VG_(realloc)("trace_file.payload", payload, payload_room);
    payload_end = payload + used;
}

static void put(ULong value) {
    payload_reserve(9);
    payload_end = mpt_put(payload_end, value);
}

static void put_signed(Long value) { put(mpt_zigzag(value)); }

static void put_string(const HChar* text) {
    const SizeT bytes = VG_(strlen)(text);
    put(bytes);
    payload_reserve(bytes);
    VG_(memcpy)(payload_end, text, bytes);
    payload_end += bytes;
}

static void put_field(ULong key, const HChar* text) {
    put(key);
    put_string(text);
}

static void put_numbers_field(ULong key, UInt count, ULong first, ULong second) {
    UChar numbers[32];
    UChar* end = mpt_put(numbers, first);
    if (count > 1) end = mpt_put(end, second);
    put(key);
    put(end - numbers);
    payload_reserve(sizeof numbers);
    VG_(memcpy)(payload_end, numbers, end - numbers);
    payload_end += end - numbers;
}

/* ---- blocks ---- */

/* If the reader is gone, the program continues without a capture. */
static void write_all(const void* data, SizeT bytes) {
    if (stream != closed && bytes != 0 && !channel_send(millpond_message_data, stream, data, bytes)) stream = closed;
}

static void write_block(UInt kind, UInt count, ULong first, const UChar* const* parts, const SizeT* bytes,
                        UInt pieces) {
    XXH3_state_t state;
    mpt_block_header header;
    if (stream == closed) return;
    VG_(memset)(&header, 0, sizeof header);
    for (UInt i = 0; i < pieces; ++i) header.stored_bytes += bytes[i];
    header.frame_magic = mpt_frame_magic;
    header.frame_bytes = mpt_header_bytes - mpt_frame_prefix_bytes + header.stored_bytes;
    header.magic = mpt_magic;
    header.version = mpt_version;
    header.kind = kind;
    header.codec = mpt_raw;
    header.sequence = sequences[kind]++;
    header.count = count;
    header.payload_bytes = header.stored_bytes;
    header.first = first;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, &header, sizeof header);
    for (UInt i = 0; i < pieces; ++i) XXH3_64bits_update(&state, parts[i], bytes[i]);
    header.checksum = XXH3_64bits_digest(&state);
    write_all(&header, sizeof header);
    for (UInt i = 0; i < pieces; ++i) write_all(parts[i], bytes[i]);
}

static void write_payload(UInt kind, UInt count, ULong first) {
    const UChar* part = payload;
    const SizeT bytes = payload_end - payload;
    write_block(kind, count, first, &part, &bytes, 1);
}

static void write_superblock(UInt number) {
    const struct millpond_superblock* block = &code_table.superblocks[number];
    put(block->address);
    put(block->roots);
    put(block->exits);
    put(block->accesses);
    UInt accesses = 0, roots = 0, instructions = 0;
    for (UInt i = 0; i < block->exits; ++i) {
        const struct millpond_exit* exit = &code_table.exits[block->first_exit + i];
        put(exit->accesses - accesses);
        put(exit->roots - roots);
        put(exit->instructions - instructions);
        accesses = exit->accesses;
        roots = exit->roots;
        instructions = exit->instructions;
    }
    for (UInt i = 0; i < block->accesses; ++i) {
        const struct millpond_access* access = &code_table.accesses[block->first_access + i];
        put(access->root);
        put_signed(access->offset);
        put(access->bytes);
        put(access->kind | access->guarded << 2);
    }
}

static void write_superblocks(void) {
    while (superblocks_written < code_table.superblock_count) {
        const UInt first = superblocks_written;
        payload_begin();
        while (superblocks_written < code_table.superblock_count && payload_end - payload < 16 * part_bytes)
            write_superblock(superblocks_written++);
        write_payload(mpt_superblocks, superblocks_written - first, first);
    }
}

static void write_contexts(void) {
    while (contexts_written < contexts_count()) {
        const UInt first = contexts_written + 1;
        payload_begin();
        while (contexts_written < contexts_count() && payload_end - payload < 16 * part_bytes) {
            const UInt id = ++contexts_written;
            const context_node* node = contexts_node(id);
            put_signed((Long)id - (Long)node->parent);
            put(node->module);
            put(node->offset);
        }
        write_payload(mpt_contexts, contexts_written - first + 1, first);
    }
}

static void write_modules(Bool all) {
    UInt count = 0;
    contexts_find_modules();
    payload_begin();
    for (UInt i = 0; i < contexts_module_count(); ++i) {
        context_module* m = contexts_module(i);
        if (!m->changed && !all) continue;
        m->changed = False;
        ++count;
        put(m->id);
        put(m->bias);
        put(m->first);
        put(m->last);
        put_string(m->path);
        put_string("");
        put(m->load_tick);
        put(m->unload_tick);
    }
    if (count > 0) write_payload(mpt_modules, count, 0);
}

static void write_regions(void) {
    const UInt first = regions_written;
    regions_find();
    payload_begin();
    for (; regions_written < regions_count(); ++regions_written) {
        const memory_region* region = regions_at(regions_written);
        put(region->kind);
        put(region->first);
        put(region->bytes);
    }
    if (regions_written > first) write_payload(mpt_regions, regions_written - first, first);
}

void trace_file_write_references(const UChar* const* parts, const SizeT* bytes, UInt count, ULong first) {
    write_superblocks();
    write_modules(False);
    write_contexts();
    write_regions();
    write_block(mpt_references, 1, first, parts, bytes, count);
}

void trace_file_write_events(void* block, UInt events) {
    const UInt bytes = mpt_seal_block(block, events);
    write_all(block, bytes);
}

static void put_count(void* state, const struct millpond_count* count) {
    (void)state;
    put(1);
    put_string(count->metric);
    put_string(count->unit);
    put(count->cache_bytes);
    put(count->sets);
    put(count->ways);
    put(count->line_bytes);
    put(count->level);
    put(count->origin);
    put(count->subject);
    put(count->distance);
    put(count->value);
}

void trace_file_write_counts(const struct millpond_simulation* simulation, const ULong instructions[2],
                             const ULong kinds[3], const struct millpond_rules* rules) {
    const SizeT simulators = millpond_simulation_size(simulation);
    payload_begin();
    put(instructions[0] + instructions[1]);
    for (UInt kind = 0; kind < 3; ++kind) put(kinds[kind]);
    put(rules->straddle_twice);
    put(rules->modify_twice);
    put(rules->bytes_max);
    put(rules->flush_references);
    put(rules->flush_instructions);
    for (SizeT i = 0; i < simulators; ++i) {
        put_string(millpond_simulation_description(simulation, i));
        millpond_simulation_report(simulation, i, put_count, NULL);
        put(0);
    }
    write_payload(mpt_counts, simulators, instructions[1]);
}

/* ---- the file ---- */

static ULong now_ns(void) {
    struct vki_timespec now;
    VG_(clock_gettime)(&now, VKI_CLOCK_MONOTONIC);
    return (ULong)now.tv_sec * 1000000000ULL + now.tv_nsec;
}

const HChar* trace_file_executable(void) {
    const HChar* path;
    return VG_(resolve_filename)(VG_(cl_exec_fd), &path) ? path : VG_(args_the_exename);
}

static void write_process(ULong recording) {
    payload_begin();
    put_numbers_field(mpt_key_pid, 1, VG_(getpid)(), 0);
    put_numbers_field(mpt_key_parent, 1, VG_(getppid)(), 0);
    put_field(mpt_key_executable, trace_file_executable());
    put_field(mpt_key_argument, VG_(args_the_exename));
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); ++i)
        put_field(mpt_key_argument, *(HChar**)VG_(indexXA)(VG_(args_for_client), i));
    put_numbers_field(mpt_key_clock, 2, buffer_now(), now_ns());
    put_numbers_field(mpt_key_first_tick, 1, buffer_now(), 0);
    if (recording != 0) put_numbers_field(mpt_key_recording, 1, recording, 0);
    write_payload(mpt_process, 1, 0);
}

/* A number that no other process image of the capture has: two of them may have one pid, in different name spaces. */
static ULong new_stream(void) {
    UInt low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    const ULong mixed = (((ULong)high << 32 | low) ^ (ULong)VG_(getpid)() << 48) * 0x9E3779B97F4A7C15ULL;
    return mixed == closed ? 1 : mixed;
}

void trace_file_open(Bool is_asked, ULong recording) {
    if (!is_asked) return;
    stream = new_stream();
    if (!channel_send(millpond_message_open, stream, NULL, 0)) stream = closed;
    superblocks_written = contexts_written = regions_written = 0;
    VG_(memset)(sequences, 0, sizeof sequences);
    write_process(recording);
    write_modules(True);
}

Bool trace_file_is_open(void) { return stream != closed; }

void trace_file_abandon(void) { stream = closed; }

void trace_file_write_end(const HChar* stopped, ULong failed) {
    if (stream == closed) return;
    write_superblocks();
    write_modules(False);
    write_contexts();
    write_regions();
    payload_begin();
    put_numbers_field(mpt_end_clock, 2, buffer_now(), now_ns());
    put_numbers_field(mpt_end_clean, 1, stopped == NULL, 0);
    put_numbers_field(mpt_end_contexts, 1, contexts_count(), 0);
    put_numbers_field(mpt_end_failed, 1, failed, 0);
    if (stopped != NULL) {
        put_numbers_field(mpt_end_stopped, 1, cannot, 0);
        put_field(mpt_end_reason, stopped);
    }
    write_payload(mpt_end, 1, 0);
}

void trace_file_close(const HChar* stopped, ULong failed) {
    trace_file_write_end(stopped, failed);
    if (stream != closed) channel_send(millpond_message_close, stream, NULL, 0);
    stream = closed;
}
