/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/channel.h"

/* A function of the core, which the headers for tools leave out. */
extern Int VG_(fcntl)(Int fd, Int cmd, Addr arg);

enum { closed = -1, log_to_descriptor = 0, log_to_socket = 2, no_signal = 0x4000 };

static const HChar option[] = "--channel=";

static Int descriptor = closed;
static Bool is_asked = False;
static struct {
    struct millpond_message header;
    UChar bytes[millpond_message_bytes_max - sizeof(struct millpond_message)];
} message;

Bool channel_is_open(void) { return descriptor != closed; }

HChar** channel_option(const HChar* name) {
    XArray* const all = VG_(args_for_valgrind);
    for (Word i = 0; all != NULL && i < VG_(sizeXA)(all); ++i) {
        HChar** const word = VG_(indexXA)(all, i);
        if (VG_(strncmp)(*word, name, VG_(strlen)(name)) == 0) return word;
    }
    return NULL;
}

static void take_log(Int to, Int type) {
    VG_(log_output_sink).fd = to;
    VG_(log_output_sink).type = type;
    VG_(log_output_sink).name = NULL;
}

void channel_find(void) {
    HChar* const* word = channel_option(option);
    if (word == NULL) return;
    const Int given = (Int)VG_(strtoll10)(*word + sizeof option - 1, NULL);
    is_asked = True;
    if (VG_(fcntl)(given, VKI_F_GETFD, 0) < 0) return; /* the program before this one had to close it */
    descriptor = given;
    take_log(descriptor, log_to_socket);
}

Bool channel_is_asked(void) { return is_asked; }

void channel_settle(void) {
    if (descriptor == closed) {
        take_log(closed, log_to_descriptor);
        return;
    }
    descriptor = VG_(safe_fd)(descriptor);
    channel_survive_exec(False);
    take_log(descriptor, log_to_socket);
}

static Bool send_message(SizeT bytes) {
    for (;;) {
        const SysRes sent = VG_(do_syscall)(__NR_sendto, descriptor, (UWord)&message, sizeof message.header + bytes,
                                            no_signal, 0, 0, 0, 0);
        if (!sr_isError(sent)) return True;
        if (sr_Err(sent) != VKI_EINTR) return False;
    }
}

static void begin_message(UInt kind, ULong stream) {
    message.header.magic = MILLPOND_MESSAGE_MAGIC;
    message.header.stream = stream;
    message.header.kind = kind;
    message.header.pid = VG_(getpid)();
}

Bool channel_send(UInt kind, ULong stream, const void* bytes, SizeT count) {
    const UChar* at = bytes;
    if (descriptor == closed) return False;
    begin_message(kind, stream);
    do {
        const SizeT part = count < sizeof message.bytes ? count : sizeof message.bytes;
        if (part != 0) VG_(memcpy)(message.bytes, at, part);
        if (!send_message(part)) return False;
        at += part;
        count -= part;
    } while (count != 0);
    return True;
}

void channel_note(const HChar* word, ...) {
    va_list fields;
    SizeT used = 0;
    if (descriptor == closed) return;
    begin_message(millpond_message_note, 0);
    va_start(fields, word);
    for (const HChar* field = word; field != NULL; field = va_arg(fields, const HChar*)) {
        SizeT bytes = VG_(strlen)(field);
        if (bytes > 4096) bytes = 4096;
        if (used + bytes + 1 > sizeof message.bytes) break;
        VG_(memcpy)(message.bytes + used, field, bytes);
        message.bytes[used + bytes] = 0;
        used += bytes + 1;
    }
    va_end(fields);
    send_message(used);
}

void channel_close(void) {
    if (descriptor == closed) return;
    VG_(close)(descriptor);
    descriptor = closed;
    take_log(closed, log_to_descriptor);
}

/* The process image that follows reads its options as we did. */
void channel_survive_exec(Bool survives) {
    static HChar text[sizeof option + 16];
    HChar** const word = channel_option(option);
    if (descriptor == closed) return;
    VG_(fcntl)(descriptor, VKI_F_SETFD, survives ? 0 : VKI_FD_CLOEXEC);
    if (word == NULL) return;
    VG_(sprintf)(text, "%s%d", option, descriptor);
    *word = text;
}
