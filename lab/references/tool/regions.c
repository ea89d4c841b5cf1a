/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/regions.h"

#include "lab/trace/format.h"

enum { segments_max = 4096 };

static memory_region* regions;
static UInt region_count, region_room;

UInt regions_count(void) { return region_count; }
const memory_region* regions_at(UInt position) { return &regions[position]; }

static void add(UInt kind, Addr first, SizeT bytes) {
    if (bytes == 0) return;
    for (UInt i = 0; i < region_count; ++i)
        if (regions[i].kind == kind && regions[i].first == first && regions[i].bytes == bytes) return;
    if (region_count == region_room) {
        region_room = 2 * region_room + 64;
        regions = VG_(realloc)("regions", regions, region_room * sizeof regions[0]);
    }
    regions[region_count].kind = kind;
    regions[region_count].first = first;
    regions[region_count].bytes = bytes;
    ++region_count;
}

void regions_on_thread_start(ThreadId thread) {
    const Addr last = VG_(thread_get_stack_max)(thread);
    const SizeT bytes = VG_(thread_get_stack_size)(thread);
    if (last != 0 && bytes <= last) add(mpt_region_stack, last - bytes + 1, bytes);
}

static Bool is_module(const HChar* path) {
    for (const DebugInfo* info = VG_(next_DebugInfo)(NULL); info != NULL; info = VG_(next_DebugInfo)(info))
        if (VG_(strcmp)(VG_(DebugInfo_get_filename)(info), path) == 0) return True;
    return False;
}

void regions_on_first_call(Addr thread_pointer) {
    if (thread_pointer > mpt_variables_before)
        add(mpt_region_variables, thread_pointer - mpt_variables_before, mpt_variables_before + mpt_variables_behind);
}

void regions_on_main(Addr first) { add(mpt_region_main, first, 1); }

/* Finds the mapping of each module's file and its .bss behind, and the break. */
void regions_find(void) {
    static Addr starts[segments_max];
    const Int count = VG_(am_get_segment_starts)(SkFileC, starts, segments_max);
    for (Int i = 0; i < count; ++i) { /* negative: there are more than that */
        const NSegment* segment = VG_(am_find_nsegment)(starts[i]);
        const HChar* path = segment == NULL ? NULL : VG_(am_get_filename)(segment);
        if (path != NULL && is_module(path)) add(mpt_region_data, segment->start, segment->end - segment->start + 1);
    }
    for (const DebugInfo* info = VG_(next_DebugInfo)(NULL); info != NULL; info = VG_(next_DebugInfo)(info))
        add(mpt_region_data, VG_(DebugInfo_get_bss_avma)(info), VG_(DebugInfo_get_bss_size)(info));
    if (VG_(brk_limit) > VG_(brk_base)) add(mpt_region_break, VG_(brk_base), VG_(brk_limit) - VG_(brk_base));
}
