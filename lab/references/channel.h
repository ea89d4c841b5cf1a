/* SPDX-License-Identifier: BSL-1.0
 * channel: what captured processes tell the process that writes their traces.
 *
 *   captured process ──messages──▶ capture_writer ─▶ FILE.partial.PID.IMAGE
 *   its children     ──────┘                      └▶ notes, and what Valgrind says, for the user
 *
 * All processes of a capture share one socket that keeps messages apart (SOCK_SEQPACKET). So limits of the program, its
 * root folder, its user and its descriptors do not concern the traces. A message begins with the header below; one that
 * does not is text of Valgrind's log. Freestanding. */
#ifndef MILLPOND_LAB_REFERENCES_CHANNEL_H
#define MILLPOND_LAB_REFERENCES_CHANNEL_H

#include <stdint.h>

enum millpond_message_kind {
    millpond_message_open = 1,  /* a process image begins; nothing follows the header */
    millpond_message_data = 2,  /* the next bytes of its partial trace */
    millpond_message_close = 3, /* its partial trace is whole */
    millpond_message_note = 4,  /* fields, each with a zero byte at its end: the note's word first */
    millpond_message_sync = 5   /* of the process that waits for the program: all has been sent */
};

struct millpond_message {
    uint64_t magic;
    uint64_t stream; /* of the process image */
    uint32_t kind;
    uint32_t pid;
};

#define MILLPOND_MESSAGE_MAGIC 0x3153474d504c494dULL /* "MILPMGS1" */

enum { millpond_message_bytes_max = 32768 }; /* with the header */

/* Words of notes, and the fields that follow them. */
#define MILLPOND_NOTE_INSTRUCTION "instruction" /* hex bytes, function, file, line, module; "0": none is known */
#define MILLPOND_NOTE_STOPPED "stopped"         /* what Valgrind's last message said */
#define MILLPOND_NOTE_REFUSED "refused"         /* why the program cannot be captured at all */
#define MILLPOND_NOTE_LEFT "left"               /* path, why that program is not captured */
#define MILLPOND_NOTE_WINDOW "window"           /* number of entries, or "-": no module has it */

#endif
