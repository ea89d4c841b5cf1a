/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/trace_file.h"

#include "lab/references/tool/calls.h"
#include "lab/references/tool/clock.h"
#include "lab/references/tool/code_table.h"
#include "lab/references/tool/contexts.h"
#include "lab/references/tool/regions.h"
#include "lab/trace/seal.h"
#include "lab/trace/writer.h"

enum { closed = -1, part_bytes = 1 << 16, images_max = 10000, path_max = 4096 };

static Int descriptor = closed;
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

static void write_all(const void* data, SizeT bytes) {
    const UChar* at = data;
    while (descriptor != closed && bytes > 0) {
        const Int written = VG_(write)(descriptor, at, bytes > part_bytes * 16 ? part_bytes * 16 : bytes);
        if (written > 0) {
            at += written;
            bytes -= written;
        } else if (written != -VKI_EINTR) {
            VG_(umsg)("millpond: the trace cannot be written (errno %d); the program goes on without\n", -written);
            VG_(close)(descriptor);
            descriptor = closed;
        }
    }
}

static void write_block(UInt kind, UInt count, ULong first, const UChar* const* parts, const SizeT* bytes,
                        UInt pieces) {
    XXH3_state_t state;
    mpt_block_header header;
    if (descriptor == closed) return;
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

static void write_process(ULong image, ULong recording) {
    payload_begin();
    put_numbers_field(mpt_key_pid, 1, VG_(getpid)(), 0);
    put_numbers_field(mpt_key_parent, 1, VG_(getppid)(), 0);
    put_field(mpt_key_executable, trace_file_executable());
    put_field(mpt_key_argument, VG_(args_the_exename));
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); ++i)
        put_field(mpt_key_argument, *(HChar**)VG_(indexXA)(VG_(args_for_client), i));
    put_numbers_field(mpt_key_clock, 2, clock_now(), now_ns());
    put_numbers_field(mpt_key_image, 1, image, 0);
    put_numbers_field(mpt_key_first_tick, 1, clock_now(), 0);
    if (recording != 0) put_numbers_field(mpt_key_recording, 1, recording, 0);
    write_payload(mpt_process, 1, 0);
}

void trace_file_open(const HChar* output, ULong recording) {
    HChar path[path_max];
    if (output == NULL || VG_(strlen)(output) + 32 > sizeof path) return;
    for (UInt image = 0; image < images_max; ++image) {
        VG_(sprintf)(path, "%s.%d.%u", output, VG_(getpid)(), image);
        const SysRes opened = VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_EXCL, VKI_S_IRUSR | VKI_S_IWUSR);
        if (sr_isError(opened) && sr_Err(opened) == VKI_EEXIST) continue;
        if (sr_isError(opened)) {
            VG_(umsg)("millpond: %s cannot be written (errno %lu); the program goes on without\n", path,
                      sr_Err(opened));
            return;
        }
        descriptor = VG_(safe_fd)((Int)sr_Res(opened));
        VG_(fcntl)(descriptor, VKI_F_SETFD, VKI_FD_CLOEXEC);
        superblocks_written = contexts_written = regions_written = 0;
        VG_(memset)(sequences, 0, sizeof sequences);
        write_process(image, recording);
        write_modules(True);
        return;
    }
}

Bool trace_file_is_open(void) { return descriptor != closed; }

void trace_file_abandon(void) {
    if (descriptor != closed) VG_(close)(descriptor);
    descriptor = closed;
}

void trace_file_close(void) {
    if (descriptor == closed) return;
    write_superblocks();
    write_modules(False);
    write_contexts();
    write_regions();
    payload_begin();
    put_numbers_field(mpt_end_clock, 2, clock_now(), now_ns());
    put_numbers_field(mpt_end_clean, 1, 1, 0);
    put_numbers_field(mpt_end_contexts, 1, contexts_count(), 0);
    put_numbers_field(mpt_end_failed, 1, calls_failed(), 0);
    write_payload(mpt_end, 1, 0);
    VG_(close)(descriptor);
    descriptor = closed;
}
