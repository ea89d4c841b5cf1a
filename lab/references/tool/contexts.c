/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/contexts.h"

#include "lab/references/tool/buffer.h"

enum { depth_max = 128, list_count = 1 << 12, stacks_in_list_max = 64 };

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

static Bool is_same_file(const HChar* one, const HChar* other) {
    struct vg_stat of_one, of_other;
    return !sr_isError(VG_(stat)(one, &of_one)) && !sr_isError(VG_(stat)(other, &of_other)) &&
           of_one.dev == of_other.dev && of_one.ino == of_other.ino;
}

/* Returns the name under which the dynamic linker loads the module, so that subsystems are called as in a recording:
 * the link `libxml2.so.2`, where Valgrind follows it to `libxml2.so.2.9.14`. The caller frees it. */
static HChar* path_of(const DebugInfo* info) {
    const HChar* file = VG_(DebugInfo_get_filename)(info);
    const HChar* soname = VG_(DebugInfo_get_soname)(info);
    const HChar* slash = VG_(strrchr)(file, '/');
    if (soname != NULL && slash != NULL && VG_(strchr)(soname, '/') == NULL) {
        const SizeT folder = slash + 1 - file;
        HChar* link = VG_(malloc)("contexts.path", folder + VG_(strlen)(soname) + 1);
        VG_(memcpy)(link, file, folder);
        VG_(strcpy)(link + folder, soname);
        if (is_same_file(link, file)) return link;
        VG_(free)(link);
    }
    return VG_(strdup)("contexts.path", file);
}

static UInt module_of(Addr address) {
    for (UInt i = module_count; i > 0; --i)
        if (modules[i - 1].unload_tick == 0 && address >= modules[i - 1].first && address < modules[i - 1].last)
            return i;
    const DebugInfo* info = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), address);
    if (info == NULL) return 0;
    for (UInt i = module_count; i > 0; --i) /* in another section than .text */
        if (modules[i - 1].unload_tick == 0 && modules[i - 1].first == VG_(DebugInfo_get_text_avma)(info)) return i;
    if (module_count == module_room) {
        module_room = 2 * module_room + 32;
        modules = VG_(realloc)("contexts.modules", modules, module_room * sizeof modules[0]);
    }
    context_module* m = &modules[module_count++];
    m->id = module_count;
    m->bias = VG_(DebugInfo_get_text_bias)(info);
    m->first = VG_(DebugInfo_get_text_avma)(info);
    m->last = m->first + VG_(DebugInfo_get_text_size)(info);
    m->load_tick = buffer_now();
    m->unload_tick = 0;
    m->path = path_of(info);
    m->changed = True;
    return m->id;
}

void contexts_find_modules(void) {
    for (const DebugInfo* info = VG_(next_DebugInfo)(NULL); info != NULL; info = VG_(next_DebugInfo)(info))
        if (VG_(DebugInfo_get_text_size)(info) > 0) module_of(VG_(DebugInfo_get_text_avma)(info));
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
    Addr place, address; /* a return address, and where it stands */
} frame;

/* The first frames, which differ between most stacks, lie in the first cache line. */
typedef struct stack_memory {
    struct stack_memory* next;
    UInt depth, context;
    frame frames[]; /* inner ones first */
} stack_memory;

/* Hashed by the stack pointer and the return address of the allocator's call; what was found last comes first. */
static stack_memory* lists[list_count];
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
    if (!is_readable(m->frames[0].place, m->frames[m->depth - 1].place)) return False;
    for (UInt i = 0; i < m->depth; ++i)
        if (*(const Addr*)m->frames[i].place != m->frames[i].address) return False;
    return True;
}

static Bool is_code(Addr address) {
    const NSegment* segment = VG_(am_find_nsegment)(address);
    return segment != NULL && segment->hasX;
}

/* Fills `to` and returns how many frames there are. *whole: each return address stands where its frame says. Nothing
 * has called the first function: what Valgrind takes for its caller is no code, or has no frame of its own. A handler's
 * stack can lie above the one that it interrupted. */
static UInt walk(ThreadId thread, Addr sp, frame to[depth_max], Bool* whole) {
    Addr ips[depth_max + 1], sps[depth_max + 1], fps[depth_max + 1];
    const UInt frames = VG_(get_StackTrace)(thread, ips, depth_max + 1, sps, fps, 0);
    UInt depth = 1;
    *whole = True;
    to[0] = (frame){sp, *(const Addr*)sp};
    for (UInt i = 2; i < frames; ++i) {
        const Addr address = ips[i] + 1;
        const Addr place = sps[i] - sizeof(Addr);
        const Addr inner = to[depth - 1].place;
        if (place == inner || !is_code(ips[i])) break;
        if (place < inner || !is_readable(place, place + sizeof(Addr) - 1) || *(const Addr*)place != address)
            *whole = False;
        to[depth++] = (frame){place, address};
    }
    return depth;
}

static UInt context_of(const frame* frames, UInt depth) {
    UInt context = 0;
    for (UInt i = depth; i > 0; --i) context = child(context, frames[i - 1].address);
    return context;
}

/* A full list gives up the stack that was met longest ago. */
static void memorise(stack_memory** list, const frame* frames, UInt depth, UInt context) {
    UInt length = 0;
    for (stack_memory** at = list; *at != NULL; at = &(*at)->next) {
        if (++length < stacks_in_list_max) continue;
        VG_(free)(*at);
        *at = NULL;
        break;
    }
    stack_memory* m = VG_(malloc)("contexts.memory", sizeof *m + depth * sizeof frames[0]);
    m->next = *list;
    m->depth = depth;
    m->context = context;
    VG_(memcpy)(m->frames, frames, depth * sizeof frames[0]);
    *list = m;
}

UInt contexts_find(ThreadId thread, Addr sp) {
    const Addr returns_to = *(const Addr*)sp;
    const UWord hash = (sp ^ returns_to << 20) * 0x9E3779B97F4A7C15ULL;
    stack_memory** const list = &lists[hash >> 52];
    for (stack_memory** at = list; *at != NULL; at = &(*at)->next) {
        stack_memory* const m = *at;
        if (m->frames[0].place != sp || !is_still_there(m)) continue;
        *at = m->next;
        m->next = *list;
        *list = m;
        return m->context;
    }
    frame frames[depth_max];
    Bool whole;
    const UInt depth = walk(thread, sp, frames, &whole);
    const UInt context = context_of(frames, depth);
    if (whole) memorise(list, frames, depth, context);
    return context;
}

static void forget_stacks(void) {
    for (UInt i = 0; i < list_count; ++i) {
        while (lists[i] != NULL) {
            stack_memory* const m = lists[i];
            lists[i] = m->next;
            VG_(free)(m);
        }
    }
}

void contexts_on_unmap(Addr first, SizeT bytes) {
    const Addr last = first + bytes;
    if (first < readable_last && readable_first < last) readable_first = readable_last = 0;
    Bool code = False;
    for (UInt i = 0; i < module_count; ++i) {
        context_module* m = &modules[i];
        if (m->unload_tick != 0 || m->first >= last || first >= m->last) continue;
        m->unload_tick = buffer_now();
        m->changed = code = True;
    }
    if (!code) return;
    /* Addresses of an unloaded module may be those of the next one: nodes of old ones are not found again. */
    for (UInt i = 1; i < node_count; ++i)
        if (nodes[i].module != 0 && modules[nodes[i].module - 1].unload_tick != 0) returns[i] = 0;
    VG_(memset)(known, 0, known_room * sizeof known[0]);
    for (UInt i = 1; i < node_count; ++i)
        if (returns[i] != 0) remember(i);
    forget_stacks();
}
