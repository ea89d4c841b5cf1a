/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/calls.h"

#include "lab/references/stream.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/contexts.h"
#include "lab/references/tool/heap_events.h"
#include "lab/references/tool/heap_functions.h"
#include "libvex_guest_amd64.h"

enum { no_function = 0, page_bytes = 4096, default_alignment = 16 };

static const Addr nothing_watched = ~(Addr)0;

/* A call of the allocator. */
typedef struct {
    UInt function; /* 0: none */
    UInt context;
    Addr sp; /* at its entry: the return address lies there */
    Addr returns_to;
    UWord old, bytes, alignment, result_place;
} heap_call;

/* What a signal handler interrupted. */
enum { handlers_max = 32 };
typedef struct {
    heap_call call;
    Addr sp;
} interrupted;

typedef struct {
    heap_call call;
    interrupted handlers[handlers_max];
    UInt handler_count;
} thread_calls;

static thread_calls** threads; /* by number */
static ULong failed_count;

static thread_calls* calls_of(ThreadId thread) {
    if (threads == NULL) threads = VG_(calloc)("calls", VG_N_THREADS, sizeof threads[0]);
    if (threads[thread] == NULL) threads[thread] = VG_(calloc)("calls", 1, sizeof(thread_calls));
    return threads[thread];
}

Addr calls_watch(ThreadId thread) {
    const thread_calls* t = calls_of(thread);
    return t->call.function == no_function ? nothing_watched : t->call.sp;
}

Bool calls_in_allocator(ThreadId thread) { return calls_of(thread)->call.function != no_function; }

ULong calls_failed(void) { return failed_count; }

/* ---- main ---- */

/* The first argument of __libc_start_main is main, whose name a stripped program does not have. */
enum { start_function = ~0u, main_function = ~0u - 1 };

static void (*main_reached)(void);
static Addr main_address;

void calls_await_main(void (*reached)(void)) { main_reached = reached; }

/* ---- functions by address ---- */

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
    entry_node* node = VG_(malloc)("calls.entry", sizeof *node);
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
    if (main_reached != NULL && VG_(strcmp)(name, "__libc_start_main") == 0) return start_function;
    if (main_reached != NULL && VG_(strcmp)(name, "main") == 0) return main_function;
    return heap_function_of_name(name);
}

static void add_entries_of(const DebugInfo* module) {
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
        if (function != 0) add_entry(addresses.main, function);
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
    if (entries == NULL) entries = VG_(HT_construct)("calls.entries");
    if (seen_count == seen_room) {
        seen_room = 2 * seen_room + 64;
        seen = VG_(realloc)("calls.seen", seen, seen_room * sizeof seen[0]);
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

UInt calls_function_at(Addr address) {
    look_into_module_of(address);
    if (entries == NULL) return no_function;
    if (address == main_address && main_reached != NULL) return main_function;
    const entry_node* node = VG_(HT_lookup)(entries, address);
    return node == NULL ? no_function : node->function;
}

void calls_on_unmap(Addr first, SizeT bytes) {
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
Bool calls_may_return_to(Addr address) {
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

Bool calls_is_unwinder(Addr address) {
    static const HChar* const names[] = {"_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
                                         "_Unwind_ForcedUnwind", "__libunwind_Registers_x86_64_jumpto"};
    const HChar* name;
    if (!VG_(get_fnname)(VG_(current_DiEpoch)(), address, &name)) return False;
    if (name[0] != '_') return False;
    for (UInt i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (VG_(strcmp)(name, names[i]) == 0) return True;
    return False;
}

/* ---- beginnings and endings ---- */

static void take_request(heap_call* call, UWord first, UWord second, UWord third) {
    call->old = call->bytes = call->alignment = call->result_place = 0;
    switch (heap_function_shape(call->function)) {
        case shape_none:
            break;
        case shape_malloc:
            call->bytes = first;
            break;
        case shape_calloc:
            call->bytes = first * second;
            break;
        case shape_new_aligned:
            call->bytes = first;
            call->alignment = second;
            break;
        case shape_memalign:
            call->alignment = first;
            call->bytes = second;
            break;
        case shape_posix_memalign:
            call->result_place = first;
            call->alignment = second;
            call->bytes = third;
            break;
        case shape_page_aligned:
            call->bytes = first;
            call->alignment = page_bytes;
            break;
        case shape_realloc:
            call->old = first;
            call->bytes = second;
            break;
        case shape_reallocarray:
            call->old = first;
            call->bytes = second * third;
            break;
        case shape_free:
            call->old = first;
            break;
    }
}

static void set_watch(UChar* guest_state, Addr watch) {
    *(Addr*)(guest_state + sizeof(VexGuestAMD64State) + slot_watch) = watch;
}

static void put_free(ThreadId thread, Addr address, UInt flags) {
    buffer_put(millpond_record_free, address, flags, 0, 0);
    heap_events_free(thread, address, flags);
}

static const VexGuestAMD64State* registers(const UChar* guest_state) { return (const VexGuestAMD64State*)guest_state; }

void calls_on_entry(UChar* guest_state, UWord function) {
    const VexGuestAMD64State* r = registers(guest_state);
    const Addr sp = r->guest_RSP;
    const ThreadId thread = VG_(get_running_tid)();
    heap_call* call = &calls_of(thread)->call;
    if (call->function != no_function) return;
    if (function == start_function || function == main_function) {
        if (function == start_function) main_address = r->guest_RDI;
        if (function == main_function && main_reached != NULL) {
            buffer_fetch(guest_state);
            buffer_flush();
            buffer_store(guest_state);
            main_reached();
            main_reached = NULL;
        }
        return;
    }
    call->function = function;
    call->sp = sp;
    call->returns_to = *(const Addr*)sp;
    take_request(call, r->guest_RDI, r->guest_RSI, r->guest_RDX);
    const heap_shape shape = heap_function_shape(function);
    buffer_fetch(guest_state);
    buffer_put(millpond_record_enter, function, 0, 0, 0);
    if (shape == shape_free) {
        if (call->old != 0) put_free(thread, call->old, 0);
    } else if (shape != shape_none) {
        call->context = contexts_find(thread, sp);
    }
    buffer_store(guest_state);
    set_watch(guest_state, sp);
}

static UInt log2_of(UWord alignment) { return alignment < 2 ? 0 : 63 - __builtin_clzll(alignment); }

static void put_results(ThreadId thread, const heap_call* call, UWord result) {
    const heap_shape shape = heap_function_shape(call->function);
    if (shape == shape_none || shape == shape_free) return;
    const Bool again = shape == shape_realloc || shape == shape_reallocarray;
    if (call->result_place != 0) result = result == 0 ? *(const UWord*)call->result_place : 0;
    /* A realloc to no bytes that gives nothing has freed; any other that gives nothing has failed and changed nothing. */
    const Bool freed = again && call->old != 0 && (result != 0 || call->bytes == 0);
    const UInt flag = freed && result != 0 ? millpond_flag_realloc : 0;
    if (freed) put_free(thread, call->old, flag);
    if (result == 0) {
        failed_count += !freed;
        return;
    }
    const UInt alignment = call->alignment > default_alignment ? log2_of(call->alignment) : 0;
    const UInt zeroed = shape == shape_calloc ? millpond_flag_zeroed : 0;
    const UInt flags = flag | zeroed | alignment << millpond_flag_alignment_shift;
    buffer_put(millpond_record_allocate, result, call->bytes, call->context, flags);
    heap_events_allocate(thread, result, call->bytes, call->context, flags);
}

static void end_call(UChar* guest_state, heap_call* call, Bool returned, UWord result) {
    buffer_fetch(guest_state);
    buffer_put(millpond_record_leave, 0, 0, 0, 0);
    if (returned) put_results(VG_(get_running_tid)(), call, result);
    buffer_store(guest_state);
    call->function = no_function;
    set_watch(guest_state, nothing_watched);
}

void calls_on_return(UChar* guest_state) {
    const VexGuestAMD64State* r = registers(guest_state);
    heap_call* call = &calls_of(VG_(get_running_tid)())->call;
    if (call->function == no_function) return;
    const Bool returned = r->guest_RIP == call->returns_to && r->guest_RSP == call->sp + sizeof(Addr);
    end_call(guest_state, call, returned, r->guest_RAX);
}

void calls_on_unwound(UChar* guest_state) {
    heap_call* call = &calls_of(VG_(get_running_tid)())->call;
    if (call->function != no_function && registers(guest_state)->guest_RSP > call->sp)
        end_call(guest_state, call, False, 0);
}

/* ---- signals, threads ---- */

void calls_on_signal(ThreadId thread, Int number) {
    thread_calls* t = calls_of(thread);
    const Addr sp = VG_(get_SP)(thread);
    buffer_put(millpond_record_signal, number, 0, 0, 0);
    if (t->handler_count == handlers_max) { /* the oldest has long been left by a longjmp */
        VG_(memmove)(t->handlers, t->handlers + 1, (handlers_max - 1) * sizeof t->handlers[0]);
        --t->handler_count;
    }
    t->handlers[t->handler_count].call = t->call;
    t->handlers[t->handler_count].sp = sp;
    ++t->handler_count;
    t->call.function = no_function;
}

void calls_on_resume(ThreadId thread, Int number) {
    (void)number;
    thread_calls* t = calls_of(thread);
    const Addr sp = VG_(get_SP)(thread);
    t->call.function = no_function;
    while (t->handler_count > 0) {
        const interrupted* handler = &t->handlers[--t->handler_count];
        if (handler->sp != sp) continue;
        t->call = handler->call;
        break;
    }
    buffer_put(millpond_record_resume, t->call.function != no_function, 0, 0, 0);
}

void calls_on_thread_start(ThreadId thread) { VG_(memset)(calls_of(thread), 0, sizeof(thread_calls)); }

void calls_on_fork(ThreadId thread) {
    for (ThreadId i = 0; threads != NULL && i < VG_N_THREADS; ++i)
        if (i != thread && threads[i] != NULL) VG_(memset)(threads[i], 0, sizeof(thread_calls));
}
