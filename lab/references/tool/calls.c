/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/calls.h"

#include <libvex_guest_amd64.h>
#include "lab/references/stream.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/contexts.h"
#include "lab/references/tool/entries.h"
#include "lab/references/tool/heap_events.h"
#include "lab/references/tool/heap_functions.h"
#include "lab/references/tool/playing.h"
#include "lab/references/tool/regions.h"

enum { page_bytes = 4096, default_alignment = 16, first_thread = 1 };

static const Addr nothing_watched = ~(Addr)0;

/* A call of the allocator. */
typedef struct {
    UInt function;  /* 0: none */
    Bool has_event; /* False: the allocator calls itself */
    UInt context;
    Addr sp; /* at its entry: the return address lies there */
    Addr returns_to;
    UWord old, bytes, alignment, result_place;
} heap_call;

/* The call that a signal handler interrupted. */
enum { handlers_max = 32 };
typedef struct {
    heap_call call;
    Addr sp;
} interrupted;

typedef struct {
    heap_call call;
    interrupted handlers[handlers_max];
    UInt handler_count;
    Addr window_sp;   /* at the entry of the window's function; 0: not in it */
    Addr resolver_sp; /* the same of a function that returns its address */
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
    if (t->call.function != no_function) return t->call.sp;
    if (t->resolver_sp != 0) return t->resolver_sp;
    return t->window_sp != 0 ? t->window_sp : nothing_watched;
}

Bool calls_in_allocator(ThreadId thread) { return calls_of(thread)->call.function != no_function; }

ULong calls_failed(void) { return failed_count; }

static void (*main_reached)(void);
static Bool main_has_begun;

void calls_await_main(void (*reached)(void)) { main_reached = reached; }

static void (*window_opened)(void);
static void (*window_closed)(void);
static UInt threads_in_window;
static ULong window_entries;

ULong calls_window_entries(void) { return window_entries; }

void calls_watch_window(void (*opened)(void), void (*closed)(void)) {
    window_opened = opened;
    window_closed = closed;
}

/* ---- beginnings and endings ---- */

static void take_request(heap_call* call, UWord first, UWord second, UWord third) {
    call->old = call->bytes = call->alignment = call->result_place = 0;
    switch (millpond_shape_of(call->function)) {
        case millpond_shape_none:
            break;
        case millpond_shape_malloc:
            call->bytes = first;
            break;
        case millpond_shape_calloc:
            call->bytes = first * second;
            break;
        case millpond_shape_new_aligned:
            call->bytes = first;
            call->alignment = second;
            break;
        case millpond_shape_memalign:
            call->alignment = first;
            call->bytes = second;
            break;
        case millpond_shape_posix_memalign:
            call->result_place = first;
            call->alignment = second;
            call->bytes = third;
            break;
        case millpond_shape_page_aligned:
            call->bytes = first;
            call->alignment = page_bytes;
            break;
        case millpond_shape_realloc:
            call->old = first;
            call->bytes = second;
            break;
        case millpond_shape_reallocarray:
            call->old = first;
            call->bytes = second * third;
            break;
        case millpond_shape_free:
            call->old = first;
            break;
    }
}

static void set_watch(UChar* guest_state, Addr watch) {
    *(Addr*)(guest_state + sizeof(VexGuestAMD64State) + slot_watch) = watch;
}

/* The words in the buffer belong to the time before the window: pass them on first. */
static void enter_window(UChar* guest_state, thread_calls* t, Addr sp) {
    if (window_opened == NULL || t->window_sp != 0) return;
    ++window_entries;
    t->window_sp = sp;
    entries_add_return(*(const Addr*)sp);
    set_watch(guest_state, sp);
    if (threads_in_window++ != 0) return;
    buffer_fetch(guest_state);
    buffer_flush();
    window_opened();
    buffer_store(guest_state);
}

static void forget_window(thread_calls* t) {
    if (t->window_sp == 0) return;
    t->window_sp = 0;
    if (--threads_in_window != 0) return;
    buffer_flush();
    window_closed();
}

static void leave_window(UChar* guest_state, thread_calls* t, Addr sp) {
    if (t->window_sp == 0 || sp <= t->window_sp) return;
    buffer_fetch(guest_state);
    forget_window(t);
    buffer_store(guest_state);
    set_watch(guest_state, nothing_watched);
}

static void put_free(ThreadId thread, Addr address, UInt flags) {
    buffer_put(millpond_record_free, address, flags, 0, 0);
    heap_events_free(thread, address, flags);
}

static const VexGuestAMD64State* registers(const UChar* guest_state) { return (const VexGuestAMD64State*)guest_state; }

/* A library calls its own malloc directly only for itself: at a thread's end, glibc so frees blocks that it had kept.
 * All other callers go through the PLT, where another malloc could take its place. */
static Bool is_internal(const VexGuestAMD64State* r) {
    const UChar* const after = *(const UChar* const*)r->guest_RSP;
    Int distance;
    if (((Addr)after & (page_bytes - 1)) < 5 || after[-5] != 0xE8) return False;
    VG_(memcpy)(&distance, after - sizeof distance, sizeof distance);
    return (Addr)after + distance == r->guest_RIP;
}

/* A gap of no instructions says where main begins. */
static void begin_main(UChar* guest_state) {
    if (main_has_begun) return;
    main_has_begun = True;
    playing_on_main();
    regions_on_main(registers(guest_state)->guest_RIP);
    buffer_fetch(guest_state);
    if (main_reached != NULL) {
        buffer_flush();
        main_reached();
    }
    buffer_put(millpond_record_gap, 0, 0, 0, 0);
    buffer_store(guest_state);
}

void calls_on_entry(UChar* guest_state, UWord flagged) {
    UInt function = flagged & ~(UInt)in_library;
    const VexGuestAMD64State* r = registers(guest_state);
    const Addr sp = r->guest_RSP;
    const ThreadId thread = VG_(get_running_tid)();
    thread_calls* const t = calls_of(thread);
    heap_call* call = &t->call;
    if (function == setjmp_function) {
        entries_add_return(*(const Addr*)sp);
        return;
    }
    if (function == resolver_function) {
        t->resolver_sp = sp;
        entries_add_return(*(const Addr*)sp);
        set_watch(guest_state, calls_watch(thread));
        return;
    }
    if (function == window_function) {
        if (call->function == no_function) enter_window(guest_state, t, sp);
        return;
    }
    if (call->function != no_function) return;
    if (function == start_function || function == main_function) {
        if (function == start_function) {
            playing_on_start((VexGuestAMD64State*)guest_state);
            entries_add_main(r->guest_RDI);
        }
        if (function == main_function) begin_main(guest_state);
        return;
    }
    static Bool has_called;
    if (!has_called && thread == first_thread) {
        has_called = True;
        regions_on_first_call(r->guest_FS_CONST);
    }
    call->function = function;
    call->sp = sp;
    call->returns_to = *(const Addr*)sp;
    entries_add_return(call->returns_to);
    take_request(call, r->guest_RDI, r->guest_RSI, r->guest_RDX);
    call->has_event = (flagged & in_library) == 0 || !is_internal(r);
    const enum millpond_heap_shape shape = call->has_event ? millpond_shape_of(function) : millpond_shape_none;
    buffer_fetch(guest_state);
    const UInt told = call->has_event ? function : (UInt)millpond_function_millpond_internal_call;
    buffer_put(millpond_record_enter, millpond_entry(told, sp), 0, 0, 0);
    playing_on_heap_call();
    if (shape == millpond_shape_free) {
        if (call->old != 0) put_free(thread, call->old, 0);
    } else if (shape != millpond_shape_none) {
        call->context = contexts_find(thread, sp);
    }
    buffer_store(guest_state);
    set_watch(guest_state, sp);
}

static UInt log2_of(UWord alignment) { return alignment < 2 ? 0 : 63 - __builtin_clzll(alignment); }

static void put_results(ThreadId thread, const heap_call* call, UWord result) {
    const enum millpond_heap_shape shape = millpond_shape_of(call->function);
    if (shape == millpond_shape_none || shape == millpond_shape_free) return;
    const Bool again = shape == millpond_shape_realloc || shape == millpond_shape_reallocarray;
    if (call->result_place != 0) result = result == 0 ? *(const UWord*)call->result_place : 0;
    /* A realloc to no bytes that gives nothing has freed; any other that gives nothing has changed nothing. */
    const Bool freed = again && call->old != 0 && (result != 0 || call->bytes == 0);
    const UInt flag = freed && result != 0 ? millpond_flag_realloc : 0;
    if (freed) put_free(thread, call->old, flag);
    if (result == 0) {
        failed_count += !freed;
        return;
    }
    const UInt alignment = call->alignment > default_alignment ? log2_of(call->alignment) : 0;
    const UInt zeroed = shape == millpond_shape_calloc ? millpond_flag_zeroed : 0;
    const UInt flags = flag | zeroed | alignment << millpond_flag_alignment_shift;
    buffer_put(millpond_record_allocate, result, call->bytes, call->context, flags);
    heap_events_allocate(thread, result, call->bytes, call->context, flags);
    if (!main_has_begun) playing_on_early_block(result, call->bytes);
}

static void end_call(UChar* guest_state, heap_call* call, Bool returned, UWord result) {
    buffer_fetch(guest_state);
    buffer_put(millpond_record_leave, 0, 0, 0, 0);
    if (returned && call->has_event) put_results(VG_(get_running_tid)(), call, result);
    buffer_store(guest_state);
    call->function = no_function;
    set_watch(guest_state, calls_watch(VG_(get_running_tid)()));
}

void calls_on_return(UChar* guest_state) {
    const VexGuestAMD64State* r = registers(guest_state);
    thread_calls* const t = calls_of(VG_(get_running_tid)());
    heap_call* call = &t->call;
    if (call->function != no_function) {
        const Bool returned = r->guest_RIP == call->returns_to && r->guest_RSP == call->sp + sizeof(Addr);
        end_call(guest_state, call, returned, r->guest_RAX);
    }
    if (t->resolver_sp != 0 && r->guest_RSP == t->resolver_sp + sizeof(Addr)) {
        t->resolver_sp = 0;
        entries_add_function(r->guest_RAX, window_function);
        set_watch(guest_state, calls_watch(VG_(get_running_tid)()));
    }
    leave_window(guest_state, t, r->guest_RSP);
}

void calls_on_unwound(UChar* guest_state) {
    const Addr sp = registers(guest_state)->guest_RSP;
    thread_calls* const t = calls_of(VG_(get_running_tid)());
    heap_call* call = &t->call;
    if (call->function != no_function && sp > call->sp) end_call(guest_state, call, False, 0);
    leave_window(guest_state, t, sp);
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

void calls_on_thread_end(ThreadId thread) {
    forget_window(calls_of(thread));
    VG_(memset)(calls_of(thread), 0, sizeof(thread_calls));
    buffer_put(millpond_record_signal, 0, 0, 0, 0);
    buffer_put(millpond_record_resume, 0, 0, 0, 0);
}

void calls_on_fork(ThreadId thread) {
    for (ThreadId i = 0; threads != NULL && i < VG_N_THREADS; ++i)
        if (i != thread && threads[i] != NULL) VG_(memset)(threads[i], 0, sizeof(thread_calls));
    threads_in_window = calls_of(thread)->window_sp != 0;
}
