/* SPDX-License-Identifier: GPL-2.0-or-later
 * tool: the Valgrind tool "millpond", which captures every data reference of a program.
 *
 *   translation: instrument ─▶ code_table
 *   running:     translated code ─▶ buffer ─▶ sink ─▶ trace_file
 *                calls, contexts ─▶ ┘
 *
 * Options: --channel=DESCRIPTOR --capture=yes --from=N --instructions=N --sample=BURST/PERIOD --skip-start=yes
 *          --window=FUNCTION --discard=yes --simulate=DESCRIPTION --bytes-max=N --with-system=yes. */
#include "lab/references/tool/tool.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/calls.h"
#include "lab/references/tool/channel.h"
#include "lab/references/tool/contexts.h"
#include "lab/references/tool/entries.h"
#include "lab/references/tool/heap_events.h"
#include "lab/references/tool/instrument.h"
#include "lab/references/tool/playing.h"
#include "lab/references/tool/regions.h"
#include "lab/references/tool/simulating.h"
#include "lab/references/tool/sink.h"
#include "lab/references/tool/trace_file.h"

static const HChar* channel;
static Bool is_captured = False;
static const HChar* sample;
static const HChar* window;
static const HChar *player, *script; /* where calls are played in the place of the program */
static Bool skips_start = False;
static Long from, instructions, recording;
static ThreadId latest;
enum { prctl_set_seccomp = 22, seccomp_set_filter = 1 };
static Bool is_off = False;

static void write_all(void) {
    buffer_flush();
    sink_finish();
    heap_events_finish();
}

/* ---- threads and signals ---- */

/* Not before the program is loaded: then its modules are known. */
static void start(ThreadId thread) {
    static Bool is_started = False;
    if (is_started) return;
    is_started = True;
    latest = thread;
    buffer_state = thread * 2;
    trace_file_open(is_captured, recording);
    sink_start();
}

static void on_start_client(ThreadId thread, ULong blocks) {
    (void)blocks;
    start(thread);
    if (thread != latest) {
        latest = thread;
        buffer_put(millpond_record_thread, thread * 2 + calls_in_allocator(thread), 0, 0, 0);
    }
    buffer_enter_client(thread, calls_watch(thread));
}

static void on_stop_client(ThreadId thread, ULong blocks) {
    (void)blocks;
    buffer_leave_client(thread);
    if (!sink_is_done() || is_off) return;
    /* The rest of the program runs as under no tool at all. Nothing translated runs now. */
    is_off = True;
    write_all();
    instrument_nothing();
    VG_(discard_translations)(0, ~0ULL, "millpond");
}

static void on_thread_start(ThreadId thread) {
    calls_on_thread_start(thread);
    regions_on_thread_start(thread);
}

static void on_thread_end(ThreadId thread) {
    if (VG_(get_running_tid)() != thread) return; /* the process ends, and the stream has no place for it */
    calls_on_thread_end(thread);
}

/* The program handles it, so it goes on. */
static Bool dies_of_instruction = False;

void tool_meets_unknown_instruction(void) { dies_of_instruction = True; }

static void on_signal(ThreadId thread, Int number, Bool other_stack) {
    (void)other_stack;
    if (number == VKI_SIGILL) dies_of_instruction = False;
    calls_on_signal(thread, number);
}

static void on_child(ThreadId thread) {
    buffer_drop();
    heap_events_drop();
    trace_file_abandon();
    calls_on_fork(thread);
    buffer_state = thread * 2 + calls_in_allocator(thread);
    trace_file_open(is_captured, recording);
    sink_start();
}

/* ---- memory ---- */

static void on_unmap(Addr first, SizeT bytes) {
    entries_on_unmap(first, bytes);
    contexts_on_unmap(first, bytes);
}

static void put_system(Addr address, SizeT bytes, Bool stored) {
    if (bytes != 0) buffer_put(millpond_record_system, address, bytes * 2 + stored, 0, 0);
}

static void on_system_read(CorePart part, ThreadId thread, const HChar* what, Addr address, SizeT bytes) {
    (void)thread, (void)what;
    if (part == Vg_CoreSysCall) put_system(address, bytes, False);
}

static void on_system_read_string(CorePart part, ThreadId thread, const HChar* what, Addr address) {
    const NSegment* segment = VG_(am_find_nsegment)(address);
    (void)thread, (void)what;
    if (part != Vg_CoreSysCall || segment == NULL || !segment->hasR) return;
    SizeT bytes = 0;
    while (address + bytes <= segment->end && ((const HChar*)address)[bytes] != 0) ++bytes;
    put_system(address, bytes + 1, False);
}

static void on_system_write(CorePart part, ThreadId thread, Addr address, SizeT bytes) {
    (void)thread;
    if (part == Vg_CoreSysCall) put_system(address, bytes, True);
}

/* ---- system calls ---- */

static void tell_window(void) {
    HChar number[32] = "-";
    if (window == NULL) return;
    if (entries_window_is_known()) VG_(sprintf)(number, "%llu", calls_window_entries());
    channel_note(MILLPOND_NOTE_WINDOW, number, NULL);
}

/* The words in memory would be lost with this process image. */
static void before_system_call(ThreadId thread, UInt number, UWord* arguments, UInt count) {
    (void)thread;
    const Bool filters = number == __NR_seccomp
                             ? count > 0 && arguments[0] <= seccomp_set_filter
                             : number == __NR_prctl && count > 0 && arguments[0] == prctl_set_seccomp;
    if (filters) {
        static const HChar why[] = "the program forbade itself system calls (seccomp)";
        channel_note(MILLPOND_NOTE_STOPPED, why, NULL);
        tool_stop(why);
        channel_close();
        return;
    }
    if (number != __NR_execve && number != __NR_execveat) return;
    write_all();
    tell_window();
    trace_file_write_end(NULL, calls_failed());
}

static void after_system_call(ThreadId thread, UInt number, UWord* arguments, UInt count, SysRes result) {
    (void)thread, (void)number, (void)arguments, (void)count, (void)result;
}

/* ---- start and end ---- */

static Bool take_option(const HChar* argument) {
    const HChar* description;
    Long bytes_max;
    if VG_STR_CLO (argument, "--channel", channel) {
    } else if VG_BOOL_CLO (argument, "--capture", is_captured) {
    } else if VG_BINT_CLO (argument, "--from", from, 0, (Long)1 << 62) {
    } else if VG_BINT_CLO (argument, "--instructions", instructions, 0, (Long)1 << 62) {
    } else if VG_BINT_CLO (argument, "--recording", recording, 0, (Long)1 << 62) {
    } else if VG_STR_CLO (argument, "--sample", sample) {
    } else if VG_BOOL_CLO (argument, "--skip-start", skips_start) {
    } else if VG_STR_CLO (argument, "--window", window) {
    } else if VG_STR_CLO (argument, "--player", player) {
    } else if VG_STR_CLO (argument, "--play", script) {
    } else if VG_BOOL_CLO (argument, "--discard", bounds.discard) {
    } else if VG_BOOL_CLO (argument, "--with-system", simulating_with_system) {
    } else if VG_BINT_CLO (argument, "--bytes-max", bytes_max, 0, 65535) {
        simulating_rules.bytes_max = bytes_max;
    } else if VG_STR_CLO (argument, "--simulate", description) {
        const HChar* wrong = simulating_ask(description);
        if (wrong != NULL) VG_(fmsg_bad_option)(description, "%s\n", wrong);
    } else {
        return False;
    }
    return True;
}

static void print_usage(void) {
    VG_(printf)(
        "    --channel=N               send traces and notes to the socket with this descriptor\n"
        "    --capture=yes             also send the trace of each process\n"
        "    --from=N                  leave out the first N instructions\n"
        "    --instructions=N          stop after N instructions were captured\n"
        "    --sample=BURST/PERIOD     capture BURST of every PERIOD instructions\n"
        "    --skip-start=yes          leave out everything before main\n"
        "    --window=FUNCTION         capture only from its entry to its return\n"
        "    --player=FILE             the player\n"
        "    --play=SCRIPT             the calls that it makes instead of running the program\n"
        "    --discard=yes             capture, but write no trace\n"
        "    --simulate=DESCRIPTION    count misses, and write no references (may be repeated)\n"
        "    --bytes-max=N             in simulators, count an access of more than N bytes as one of N\n"
        "    --with-system=yes         in simulators, also count what system calls read and wrote\n"
        "    --recording=N             a number that all traces of one capture share\n");
}

static void print_debug_usage(void) {}

static void after_options(void) {
    bounds.from = from;
    bounds.instructions = instructions;
    if (sample != NULL) {
        HChar* end;
        bounds.burst = VG_(strtoll10)(sample, &end);
        bounds.period = *end == '/' ? VG_(strtoll10)(end + 1, &end) : 0;
        if (*end != 0 || bounds.burst == 0 || bounds.period <= bounds.burst)
            VG_(fmsg_bad_option)(sample, "--sample takes BURST/PERIOD, in instructions, BURST less than PERIOD\n");
    }
    if (skips_start) {
        sink_close_gate();
        calls_await_main(&sink_open_gate);
    }
    if (window != NULL) {
        sink_close_gate();
        entries_name_window(window);
        calls_watch_window(&sink_open_gate, &sink_close_gate);
    }
    if (player != NULL && script != NULL) playing_ask(player, script);
    VG_(atfork)(NULL, NULL, on_child);
}

static void finish(Int status) {
    (void)status;
    write_all();
    tell_window();
    trace_file_close(dies_of_instruction ? "Valgrind does not know an instruction of the program" : NULL,
                     calls_failed());
}

void tool_stop(const HChar* why) {
    write_all();
    trace_file_close(why, calls_failed());
}

static void before_options(void) {
    buffer_pass_to(&sink_take);
    VG_(details_name)("millpond");
    VG_(details_version)("1");
    VG_(details_description)("captures every data reference of a program");
    VG_(details_copyright_author)("Part of Millpond; GPL-2.0-or-later.");
    VG_(details_bug_reports_to)("the place where you got Millpond");
    VG_(details_avg_translation_sizeB)(400);
    VG_(basic_tool_funcs)(after_options, instrument, finish);
    VG_(needs_command_line_options)(take_option, print_usage, print_debug_usage);
    VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
    /* So that every function begins a superblock: a call's arguments are in the registers there. */
    VG_(clo_vex_control).guest_chase = False;
    VG_(track_start_client_code)(on_start_client);
    VG_(track_stop_client_code)(on_stop_client);
    VG_(track_pre_thread_first_insn)(on_thread_start);
    VG_(track_pre_thread_ll_exit)(on_thread_end);
    VG_(track_pre_deliver_signal)(on_signal);
    VG_(track_post_deliver_signal)(calls_on_resume);
    VG_(track_pre_mem_read)(on_system_read);
    VG_(track_pre_mem_read_asciiz)(on_system_read_string);
    VG_(track_post_mem_write)(on_system_write);
    VG_(track_die_mem_munmap)(on_unmap);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
