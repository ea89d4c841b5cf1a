/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/contexts.h"

#include "lab/references/tool/clock.h"

enum { depth_max = 128, memory_count = 1 << 12 };

/* ---- the tree ---- */

static context_node* nodes; /* [0] is the outside */
static Addr* returns;       /* of each node: its return address */
static UInt node_count = 1, node_room;
static UInt* known; /* by (parent, return address); open addressing */
static UInt known_room;

UInt contexts_count(void) { return node_count - 1; }
const context_node* contexts_node(UInt id) { return &nodes[id]; }

static UInt place_of(UInt parent, Addr address) {
    UWord hash = (address ^ (UWord)parent << 40) * 0x9E3779B97F4A7C15ULL;
    return (hash >> 32) & (known_room - 1);
}

static void remember(UInt id) {
    UInt place = place_of(nodes[id].parent, returns[id]);
    while (known[place] != 0) place = (place + 1) & (known_room - 1);
    known[place] = id;
}

static void grow(void) {
    if (node_count + 1 >= node_room) {
        node_room = 2 * node_room + 4096;
        nodes = VG_(realloc)("contexts.nodes", nodes, node_room * sizeof nodes[0]);
        returns = VG_(realloc)("contexts.returns", returns, node_room * sizeof returns[0]);
    }
    if (2 * (node_count + 1) <= known_room) return;
    known_room = known_room == 0 ? 1u << 13 : 2 * known_room;
    VG_(free)(known);
    known = VG_(calloc)("contexts.known", known_room, sizeof known[0]);
    for (UInt i = 1; i < node_count; ++i)
        if (returns[i] != 0) remember(i);
}

/* ---- modules ---- */

static context_module* modules;
static UInt module_count, module_room;

UInt contexts_module_count(void) { return module_count; }
context_module* contexts_module(UInt position) { return &modules[position]; }

static UInt module_of(Addr address) {
    for (UInt i = module_count; i > 0; --i)
        if (modules[i - 1].unload_tick == 0 && address >= modules[i - 1].first && address < modules[i - 1].last)
            return i;
    const DebugInfo* info = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), address);
    if (info == NULL) return 0;
    if (module_count == module_room) {
        module_room = 2 * module_room + 32;
        modules = VG_(realloc)("contexts.modules", modules, module_room * sizeof modules[0]);
    }
    context_module* m = &modules[module_count++];
    m->id = module_count;
    m->bias = VG_(DebugInfo_get_text_bias)(info);
    m->first = VG_(DebugInfo_get_text_avma)(info);
    m->last = m->first + VG_(DebugInfo_get_text_size)(info);
    m->load_tick = clock_now();
    m->unload_tick = 0;
    m->path = VG_(strdup)("contexts.path", VG_(DebugInfo_get_filename)(info));
    m->changed = True;
    return m->id;
}

static UInt child(UInt parent, Addr address) {
    grow();
    for (UInt place = place_of(parent, address); known[place] != 0; place = (place + 1) & (known_room - 1)) {
        const UInt id = known[place];
        if (nodes[id].parent == parent && returns[id] == address) return id;
    }
    const UInt id = node_count++;
    nodes[id].parent = parent;
    nodes[id].module = module_of(address);
    nodes[id].offset = nodes[id].module == 0 ? 0 : address - modules[nodes[id].module - 1].bias;
    returns[id] = address;
    remember(id);
    return id;
}

/* ---- stacks that were met ---- */

typedef struct {
    Addr sp;
    UInt depth; /* 0: not in use */
    UInt context;
    Addr places[depth_max];
    Addr addresses[depth_max];
} stack_memory;

static stack_memory* memories[memory_count];
static Addr readable_first, readable_last; /* a mapping in which stacks lie */

static Bool is_readable(Addr first, Addr last) {
    if (first >= readable_first && last < readable_last) return True;
    const NSegment* segment = VG_(am_find_nsegment)(first);
    if (segment == NULL || !segment->hasR) return False;
    readable_first = segment->start;
    readable_last = segment->end + 1;
    return last < readable_last;
}

static Bool is_still_there(const stack_memory* m) {
    for (UInt i = 0; i < m->depth; ++i)
        if (*(const Addr*)m->places[i] != m->addresses[i]) return False;
    return True;
}

/* Returns whether each return address stands where the frame says. */
static Bool walk(ThreadId thread, Addr sp, stack_memory* m) {
    Addr ips[depth_max + 1], sps[depth_max + 1], fps[depth_max + 1];
    const UInt frames = VG_(get_StackTrace)(thread, ips, depth_max + 1, sps, fps, 0);
    Bool whole = True;
    m->depth = 1;
    m->places[0] = sp;
    m->addresses[0] = *(const Addr*)sp;
    for (UInt i = 2; i < frames; ++i) {
        const Addr address = ips[i] + 1;
        const Addr place = sps[i] - sizeof(Addr);
        if (place <= m->places[m->depth - 1] || !is_readable(place, place + sizeof(Addr) - 1) ||
            *(const Addr*)place != address)
            whole = False;
        m->places[m->depth] = place;
        m->addresses[m->depth] = address;
        ++m->depth;
    }
    return whole;
}

UInt contexts_find(ThreadId thread, Addr sp) {
    const Addr returns_to = *(const Addr*)sp;
    const UWord hash = (sp ^ returns_to << 20) * 0x9E3779B97F4A7C15ULL;
    stack_memory** place = &memories[hash >> 52];
    stack_memory* m = *place;
    if (m != NULL && m->depth > 0 && m->sp == sp && is_readable(sp, m->places[m->depth - 1]) && is_still_there(m))
        return m->context;
    if (m == NULL) m = *place = VG_(malloc)("contexts.memory", sizeof *m);
    const Bool whole = walk(thread, sp, m);
    UInt context = 0;
    for (UInt i = m->depth; i > 0; --i) context = child(context, m->addresses[i - 1]);
    m->sp = sp;
    m->context = context;
    if (!whole) m->depth = 0;
    return context;
}

void contexts_on_unmap(Addr first, SizeT bytes) {
    const Addr last = first + bytes;
    if (first < readable_last && readable_first < last) readable_first = readable_last = 0;
    Bool code = False;
    for (UInt i = 0; i < module_count; ++i) {
        context_module* m = &modules[i];
        if (m->unload_tick != 0 || m->first >= last || first >= m->last) continue;
        m->unload_tick = clock_now();
        m->changed = code = True;
    }
    if (!code) return;
    /* Addresses of an unloaded module may be those of the next one: nodes of old ones are not found again. */
    for (UInt i = 1; i < node_count; ++i)
        if (nodes[i].module != 0 && modules[nodes[i].module - 1].unload_tick != 0) returns[i] = 0;
    VG_(memset)(known, 0, known_room * sizeof known[0]);
    for (UInt i = 1; i < node_count; ++i)
        if (returns[i] != 0) remember(i);
    for (UInt i = 0; i < memory_count; ++i)
        if (memories[i] != NULL) memories[i]->depth = 0;
}
