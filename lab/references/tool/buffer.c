/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/buffer.h"

#include <libvex_guest_amd64.h>

_Static_assert(buffer_words * 8 <= buffer_full_bit && buffer_room_words * 8 <= buffer_full_bit, "the bit tells");

static ULong storage[buffer_full_bit / 8 + buffer_room_words] __attribute__((aligned(2 * buffer_full_bit)));
static ULong* const words = storage + buffer_full_bit / 8 - buffer_words;

ULong* buffer_cursor = storage + buffer_full_bit / 8 - buffer_words;
ULong buffer_state;

static void (*pass)(const ULong* first, const ULong* last);
static ULong passed; /* words, also of gaps */

void buffer_pass_to(void (*take)(const ULong* first, const ULong* last)) { pass = take; }

ULong buffer_first(void) { return passed; }
ULong buffer_now(void) { return passed + (buffer_cursor - words); }

void buffer_flush(void) {
    if (buffer_cursor != words) pass(words, buffer_cursor);
    passed += buffer_cursor - words;
    buffer_cursor = words;
}

void buffer_drop(void) { buffer_cursor = words; }

void buffer_put(ULong record, ULong a, ULong b, ULong c, ULong d) {
    const unsigned operands = millpond_operands(record);
    if (((UWord)buffer_cursor & buffer_full_bit) != 0) buffer_flush();
    buffer_cursor[0] = record;
    buffer_cursor[1] = a;
    buffer_cursor[2] = b;
    buffer_cursor[3] = c;
    buffer_cursor[4] = d;
    buffer_cursor += 1 + operands;
    switch (record) {
        case millpond_record_thread:
            buffer_state = a;
            break;
        case millpond_record_enter:
            buffer_state |= 1;
            break;
        case millpond_record_leave:
        case millpond_record_signal:
            buffer_state &= ~1ULL;
            break;
        case millpond_record_resume:
            buffer_state = (buffer_state & ~1ULL) | a;
            break;
        default:
            break;
    }
}

static ULong** cursor_slot(UChar* guest_state) {
    return (ULong**)(guest_state + sizeof(VexGuestAMD64State) + slot_cursor);
}

void buffer_fetch(const UChar* guest_state) { buffer_cursor = *cursor_slot((UChar*)guest_state); }
void buffer_store(UChar* guest_state) { *cursor_slot(guest_state) = buffer_cursor; }

void buffer_on_full(UChar* guest_state) {
    buffer_fetch(guest_state);
    buffer_flush();
    buffer_store(guest_state);
}

void buffer_enter_client(ThreadId thread, Addr watch) {
    VG_(set_shadow_regs_area)(thread, 1, slot_cursor, sizeof buffer_cursor, (const UChar*)&buffer_cursor);
    VG_(set_shadow_regs_area)(thread, 1, slot_watch, sizeof watch, (const UChar*)&watch);
}

void buffer_leave_client(ThreadId thread) {
    VG_(get_shadow_regs_area)(thread, (UChar*)&buffer_cursor, 1, slot_cursor, sizeof buffer_cursor);
}
