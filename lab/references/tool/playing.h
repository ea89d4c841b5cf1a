/* SPDX-License-Identifier: GPL-2.0-or-later
 * playing: replaces the program's main by the player's (lab/references/player/player.c), which makes the calls of a
 * script to the program's allocator.
 *
 *   __libc_start_main(main, …) ─▶ the player's file is mapped ─▶ __libc_start_main(player's main, …)
 */
#ifndef MILLPOND_LAB_REFERENCES_TOOL_PLAYING_H
#define MILLPOND_LAB_REFERENCES_TOOL_PLAYING_H

#include <libvex_guest_amd64.h>
#include "lab/references/tool/valgrind_headers.h"

/* `player`: the file of the player; `script`: what it plays. */
void playing_ask(const HChar* player, const HChar* script);
/* The program is at the entry of __libc_start_main. Nothing happens unless it was asked. */
void playing_on_start(VexGuestAMD64State* state);
/* Before main: an allocation; and main, or what runs in its place. */
void playing_on_early_block(Addr address, SizeT bytes);
void playing_on_main(void);
/* A call of the allocator begins. */
void playing_on_heap_call(void);

#endif
