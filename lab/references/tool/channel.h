/* SPDX-License-Identifier: GPL-2.0-or-later
 * channel: sends the trace of this process, and notes about it, to the process that writes the traces
 * (lab/references/channel.h).
 *
 * The socket's number lies outside the range of the program's own descriptors. An exec closes it, unless it is
 * captured. */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_CHANNEL_H
#define MILLPOND_LAB_REFERENCES_TOOL_CHANNEL_H

#include "lab/references/channel.h"
#include "lab/references/tool/valgrind_headers.h"

/* Looks for --channel=N among the options, as soon as they are known; from then on Valgrind's log goes there. */
void channel_find(void);
/* The same when Valgrind has chosen its own log: the socket is moved where the program cannot close it. */
void channel_settle(void);
Bool channel_is_open(void);
Bool channel_is_asked(void);
/* Call this if the program forbids system calls. Later messages of Valgrind are dropped. */
void channel_close(void);
/* The place of an option that begins so among those of this process image, which hands them on in an exec; or null. */
HChar** channel_option(const HChar* name);

/* Returns false if the reader is gone. */
Bool channel_send(UInt kind, ULong stream, const void* bytes, SizeT count);
/* A note: a word and fields, up to a null pointer. */
void channel_note(const HChar* word, ...);

/* For an exec that is captured (True), and when it has failed. */
void channel_survive_exec(Bool survives);

#endif
