/* SPDX-License-Identifier: GPL-2.0-or-later
 * calls: tells when the program's allocator is at work, and which blocks it gives and takes.
 *
 *   program ──malloc──▶│ enter      allocator      leave, allocate │──▶ program
 *                      └ the entry of a function with such a name  └ the first superblock behind a call that finds the
 *                                                                    stack pointer above the entry's
 *
 * The program keeps its own allocator, which is recognised by the names of its functions (entries.h). Only the
 * outermost call counts, not the calls that an allocator makes itself. A comparison of stack pointers finds the end of
 * the open call. It is made behind every known call of the allocator and of setjmp, and where an unwinder jumps; other
 * code pays nothing. So a call ends exactly where it returns, from any function (tail calls), where a longjmp lands,
 * and where an exception is caught. Each thread has its own call. A signal handler suspends it.
 *
 * The call of a window's function (--window) ends in the same way. The window is open while any thread is in one. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_CALLS_H
#define MILLPOND_LAB_REFERENCES_TOOL_CALLS_H

#include "lab/references/tool/valgrind_headers.h"

/* Helpers of translated code, at a superblock's start or end: there the guest state is whole. */
void calls_on_entry(UChar* guest_state, UWord flagged); /* of entries.h */
void calls_on_return(UChar* guest_state);
void calls_on_unwound(UChar* guest_state);

/* The stack pointer above which the innermost open call of the thread has ended; all ones if none is open. */
Addr calls_watch(ThreadId thread);
Bool calls_in_allocator(ThreadId thread);

void calls_on_signal(ThreadId thread, Int number);
void calls_on_resume(ThreadId thread, Int number);
void calls_on_thread_start(ThreadId thread);
void calls_on_thread_end(ThreadId thread);
/* In a child of fork: other threads are gone. */
void calls_on_fork(ThreadId thread);
/* `reached` is called at the first instruction of main. */
void calls_await_main(void (*reached)(void));
/* `opened` is called where the first thread enters the window's function, `closed` where the last one has left it. */
void calls_watch_window(void (*opened)(void), void (*closed)(void));
/* Returns the number of entries into the window's function, except nested calls. */
ULong calls_window_entries(void);
/* Returns the number of allocations that failed. */
ULong calls_failed(void);

#endif
