/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/entries.h"

#include "lab/references/tool/dynamic_symbols.h"
#include "lab/references/tool/heap_functions.h"

static Addr main_address;
static const HChar* window_name;
static Bool window_is_known = False;

void entries_add_main(Addr address) { main_address = address; }
void entries_name_window(const HChar* name) { window_name = name; }

typedef struct {
    VgHashNode node; /* key: the entry */
    UInt function;
} entry_node;

typedef struct {
    const DebugInfo* module;
    Addr first, last;
} seen_module;

static VgHashTable* entries;
static VgHashTable* returns; /* of plain nodes */
static seen_module* seen;
static UInt seen_count, seen_room;

/* The address of each function of the allocator, in the module that was met first. */
static Addr first_of[millpond_function_end];
static Addr dlsym_address;

Addr entries_of_function(UInt function) { return first_of[function]; }
Addr entries_dlsym(void) { return dlsym_address; }
static void add_entry(Addr address, UInt function) {
    const UInt number = function & ~(UInt)in_library;
    if (number < millpond_function_end && first_of[number] == 0) first_of[number] = address;
    if (VG_(HT_lookup)(entries, address) != NULL) return;
    entry_node* node = VG_(malloc)("entries.entry", sizeof *node);
    node->node.key = address;
    node->function = function;
    VG_(HT_add_node)(entries, node);
}

void entries_add_function(Addr address, UInt function) {
    if (entries == NULL) entries = VG_(HT_construct)("entries.entries");
    add_entry(address, function);
    VG_(discard_translations)(address, 1, "millpond");
}

/* `names` ends with a null pointer. */
static Bool is_one_of(const HChar* const* names, const HChar* name) {
    for (; *names != NULL; ++names)
        if (VG_(strcmp)(name, *names) == 0) return True;
    return False;
}

/* All that the C libraries' setjmp and sigsetjmp, functions or macros, call. */
static const HChar* const setjmps[] = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", NULL};
static const HChar* const unwinders[] = {"_Unwind_RaiseException",
                                         "_Unwind_Resume",
                                         "_Unwind_Resume_or_Rethrow",
                                         "_Unwind_ForcedUnwind",
                                         "__libunwind_Registers_x86_64_jumpto",
                                         NULL};

/* Returns whether the name is the window's, or that of a compiler's copy of it for some of the calls. */
static Bool is_window(const HChar* name) {
    static const HChar* const copies[] = {".constprop.", ".isra."};
    if (window_name == NULL) return False;
    const SizeT bytes = VG_(strlen)(window_name);
    if (VG_(strncmp)(name, window_name, bytes) != 0) return False;
    const HChar* rest = name + bytes;
    if (*rest == 0) return True;
    for (UInt i = 0; i < sizeof copies / sizeof copies[0]; ++i)
        if (VG_(strncmp)(rest, copies[i], VG_(strlen)(copies[i])) == 0) return VG_(strstr)(rest, ".cold") == NULL;
    return False;
}

Bool entries_window_is_known(void) { return window_is_known; }

/* Returns the function for a symbol, whose name may end in @VERSION. */
static UInt function_of_name(const HChar* symbol) {
    HChar plain[64];
    const HChar* name = symbol;
    const HChar* version = VG_(strchr)(symbol, '@');
    if (version != NULL && version - symbol < (Word)sizeof plain) {
        VG_(memcpy)(plain, symbol, version - symbol);
        plain[version - symbol] = 0;
        name = plain;
    }
    if (VG_(strcmp)(name, "__libc_start_main") == 0) return start_function;
    if (VG_(strcmp)(name, "main") == 0) return main_function;
    if (is_window(name)) {
        window_is_known = True;
        return window_function;
    }
    if (is_one_of(setjmps, name)) return setjmp_function;
    return heap_function_of_name(name);
}

/* The module whose exported functions are visited. */
static const DebugInfo* visited;

static void add_exported(const HChar* name, Addr address) {
    const Addr text = VG_(DebugInfo_get_text_avma)(visited);
    const UInt function = heap_function_of_name(name);
    if (function == 0 || (address >= text && address < text + VG_(DebugInfo_get_text_size)(visited))) return;
    add_entry(address, function | in_library);
}

static void add_entries_of(const DebugInfo* module, const NSegment* segment) {
    const HChar* soname = VG_(DebugInfo_get_soname)(module);
    const Bool is_library = soname != NULL && VG_(strcmp)(soname, "NONE") != 0;
    const Int count = VG_(DebugInfo_syms_howmany)(module);
    for (Int i = 0; i < count; ++i) {
        SymAVMAs addresses;
        UInt size;
        const HChar *name, **others;
        Bool is_text, is_ifunc, is_global;
        VG_(DebugInfo_syms_getidx)(module, i, &addresses, &size, &name, &others, &is_text, &is_ifunc, &is_global);
        if (is_text && VG_(strncmp)(name, "dlsym", 5) == 0 && (name[5] == 0 || name[5] == '@'))
            dlsym_address = addresses.main;
        if (!is_text) continue; /* and not only global ones: many of these names are weak */
        UInt function = function_of_name(name);
        for (; function == 0 && others != NULL && *others != NULL; ++others) function = function_of_name(*others);
        if (is_ifunc) function = function == window_function ? resolver_function : 0;
        if (function == 0) continue;
        const Bool is_heap = function < start_function;
        add_entry(addresses.main, function | (is_heap && is_library ? in_library : 0));
    }
    if (!is_library) return;
    visited = module;
    dynamic_symbols_visit(segment, add_exported);
}

/* Finds the module by its file: Valgrind finds it only by addresses of .text. */
static const DebugInfo* module_of(const NSegment* segment) {
    const HChar* path = VG_(am_get_filename)(segment);
    for (const DebugInfo* info = VG_(next_DebugInfo)(NULL); info != NULL; info = VG_(next_DebugInfo)(info))
        if (path != NULL && VG_(strcmp)(VG_(DebugInfo_get_filename)(info), path) == 0) return info;
    return NULL;
}

static void look_into_module_of(Addr address) {
    static UInt latest;
    if (latest < seen_count && address >= seen[latest].first && address < seen[latest].last) return;
    for (UInt i = 0; i < seen_count; ++i)
        if (address >= seen[i].first && address < seen[i].last) {
            latest = i;
            return;
        }
    const NSegment* segment = VG_(am_find_nsegment)(address);
    const DebugInfo* module = segment == NULL || segment->kind != SkFileC ? NULL : module_of(segment);
    if (module == NULL) return;
    if (entries == NULL) entries = VG_(HT_construct)("entries.entries");
    if (seen_count == seen_room) {
        seen_room = 2 * seen_room + 64;
        seen = VG_(realloc)("entries.seen", seen, seen_room * sizeof seen[0]);
    }
    /* The whole mapping, for code may lie in sections other than .text: gperftools' malloc does. */
    seen[seen_count].module = module;
    seen[seen_count].first = segment->start;
    seen[seen_count].last = segment->end + 1;
    latest = seen_count++;
    add_entries_of(module, segment);
}

void entries_read_all(void) {
    for (const DebugInfo* info = VG_(next_DebugInfo)(NULL); info != NULL; info = VG_(next_DebugInfo)(info))
        if (VG_(DebugInfo_get_text_size)(info) > 0) look_into_module_of(VG_(DebugInfo_get_text_avma)(info));
}

UInt entries_function_at(Addr address) {
    look_into_module_of(address);
    if (entries == NULL) return no_function;
    if (address == main_address) return main_function;
    const entry_node* node = VG_(HT_lookup)(entries, address);
    return node == NULL ? no_function : node->function;
}

static void forget_between(VgHashTable* table, Addr first, Addr last) {
    UInt count;
    if (table == NULL) return;
    VG_(HT_ResetIter)(table);
    VgHashNode** nodes = VG_(HT_to_array)(table, &count);
    for (UInt i = 0; i < count; ++i)
        if (nodes[i]->key >= first && nodes[i]->key < last) VG_(free)(VG_(HT_remove)(table, nodes[i]->key));
    VG_(free)(nodes);
}

void entries_on_unmap(Addr first, SizeT bytes) {
    const Addr last = first + bytes;
    for (UInt i = 0; i < seen_count;) {
        if (seen[i].first >= last || first >= seen[i].last) {
            ++i;
            continue;
        }
        forget_between(entries, seen[i].first, seen[i].last);
        forget_between(returns, seen[i].first, seen[i].last);
        seen[i] = seen[--seen_count];
    }
}

void entries_add_return(Addr address) {
    if (returns == NULL) returns = VG_(HT_construct)("entries.returns");
    if (VG_(HT_lookup)(returns, address) != NULL) return;
    VgHashNode* node = VG_(malloc)("entries.return", sizeof *node);
    node->key = address;
    VG_(HT_add_node)(returns, node);
    VG_(discard_translations)(address, 1, "millpond");
}

Bool entries_is_return(Addr address) { return returns != NULL && VG_(HT_lookup)(returns, address) != NULL; }

Bool entries_is_unwinder(Addr address) {
    const HChar* name;
    return VG_(get_fnname)(VG_(current_DiEpoch)(), address, &name) && is_one_of(unwinders, name);
}
