/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/entries.h"

#include "lab/references/tool/heap_functions.h"

enum { page_bytes = 4096 };

static Bool awaits_main;
static Addr main_address;

void entries_await_main(void) { awaits_main = True; }
void entries_add_main(Addr address) { main_address = address; }

typedef struct {
    VgHashNode node; /* key: the entry */
    UInt function;
} entry_node;

typedef struct {
    const DebugInfo* module;
    Addr first, last;
} seen_module;

static VgHashTable* entries;
static seen_module* seen;
static UInt seen_count, seen_room;

static void add_entry(Addr address, UInt function) {
    if (VG_(HT_lookup)(entries, address) != NULL) return;
    entry_node* node = VG_(malloc)("entries.entry", sizeof *node);
    node->node.key = address;
    node->function = function;
    VG_(HT_add_node)(entries, node);
}

/* Of a symbol, whose name may end in @VERSION. */
static UInt function_of_name(const HChar* symbol) {
    HChar plain[64];
    const HChar* name = symbol;
    const HChar* version = VG_(strchr)(symbol, '@');
    if (version != NULL && version - symbol < (Word)sizeof plain) {
        VG_(memcpy)(plain, symbol, version - symbol);
        plain[version - symbol] = 0;
        name = plain;
    }
    if (awaits_main && VG_(strcmp)(name, "__libc_start_main") == 0) return start_function;
    if (awaits_main && VG_(strcmp)(name, "main") == 0) return main_function;
    return heap_function_of_name(name);
}

static void add_entries_of(const DebugInfo* module) {
    const HChar* soname = VG_(DebugInfo_get_soname)(module);
    const Bool is_library = soname != NULL && VG_(strcmp)(soname, "NONE") != 0;
    const Int count = VG_(DebugInfo_syms_howmany)(module);
    for (Int i = 0; i < count; ++i) {
        SymAVMAs addresses;
        UInt size;
        const HChar *name, **others;
        Bool is_text, is_ifunc, is_global;
        VG_(DebugInfo_syms_getidx)(module, i, &addresses, &size, &name, &others, &is_text, &is_ifunc, &is_global);
        if (!is_text || is_ifunc) continue; /* and not only global ones: many of these names are weak */
        UInt function = function_of_name(name);
        for (; function == 0 && others != NULL && *others != NULL; ++others) function = function_of_name(*others);
        if (function == 0) continue;
        const Bool is_heap = function < start_function;
        add_entry(addresses.main, function | (is_heap && is_library ? in_library : 0));
    }
}

static void look_into_module_of(Addr address) {
    static UInt latest;
    if (latest < seen_count && address >= seen[latest].first && address < seen[latest].last) return;
    for (UInt i = 0; i < seen_count; ++i)
        if (address >= seen[i].first && address < seen[i].last) {
            latest = i;
            return;
        }
    const DebugInfo* module = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), address);
    if (module == NULL) return;
    if (entries == NULL) entries = VG_(HT_construct)("entries.entries");
    if (seen_count == seen_room) {
        seen_room = 2 * seen_room + 64;
        seen = VG_(realloc)("entries.seen", seen, seen_room * sizeof seen[0]);
    }
    const Addr first = VG_(DebugInfo_get_text_avma)(module);
    const Addr last = first + VG_(DebugInfo_get_text_size)(module);
    if (address < first || address >= last) return; /* a PLT: no function begins there */
    seen[seen_count].module = module;
    seen[seen_count].first = first;
    seen[seen_count].last = last;
    latest = seen_count++;
    add_entries_of(module);
}

UInt entries_function_at(Addr address) {
    look_into_module_of(address);
    if (entries == NULL) return no_function;
    if (address == main_address) return main_function;
    const entry_node* node = VG_(HT_lookup)(entries, address);
    return node == NULL ? no_function : node->function;
}

void entries_on_unmap(Addr first, SizeT bytes) {
    const Addr last = first + bytes;
    for (UInt i = 0; i < seen_count;) {
        if (seen[i].first >= last || first >= seen[i].last) {
            ++i;
            continue;
        }
        VG_(HT_ResetIter)(entries);
        UInt count;
        VgHashNode** nodes = VG_(HT_to_array)(entries, &count);
        for (UInt k = 0; k < count; ++k)
            if (nodes[k]->key >= seen[i].first && nodes[k]->key < seen[i].last)
                VG_(free)(VG_(HT_remove)(entries, nodes[k]->key));
        VG_(free)(nodes);
        seen[i] = seen[--seen_count];
    }
}

/* The bytes in front of an address are those of a call: e8 rel32, or ff /2 in its seven lengths, with or without a REX
 * prefix. Others may look so by chance, which costs a comparison. */
Bool entries_may_return_to(Addr address) {
    enum { longest = 7 };
    if ((address & (page_bytes - 1)) < longest) {
        const NSegment* segment = VG_(am_find_nsegment)(address - longest);
        if (segment == NULL || !(segment->hasR || segment->hasX)) return False;
    }
    const UChar* at = (const UChar*)address;
    if (at[-5] == 0xE8) return True;
    for (Int length = 2; length <= longest; ++length) {
        if (at[-length] != 0xFF || ((at[-length + 1] >> 3) & 7) != 2) continue;
        const UInt mode = at[-length + 1] >> 6, register_number = at[-length + 1] & 7;
        const Int index_byte = register_number == 4 && mode != 3;
        const Int displacement = mode == 1 ? 1 : mode == 2 || (mode == 0 && register_number == 5) ? 4 : 0;
        if (length == 2 + index_byte + displacement) return True;
    }
    return False;
}

Bool entries_is_unwinder(Addr address) {
    static const HChar* const names[] = {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
                                         "_Unwind_ForcedUnwind", "__libunwind_Registers_x86_64_jumpto"};
    const HChar* name;
    if (!VG_(get_fnname)(VG_(current_DiEpoch)(), address, &name)) return False;
    if (name[0] != '_') return False;
    for (UInt i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (VG_(strcmp)(name, names[i]) == 0) return True;
    return False;
}
