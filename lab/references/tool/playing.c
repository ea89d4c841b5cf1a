/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/playing.h"

#include "lab/references/heap_functions.h"
#include "lab/references/player/call_script.h"
#include "lab/references/player/player_link.h"
#include "lab/references/tool/entries.h"
#include "lab/references/tool/trace_file.h"

enum { early_max = 1 << 20 };

static const HChar *player_path, *script_path;
static struct millpond_player_link* playing; /* where it is mapped */
static struct millpond_early_block* early;
static UInt early_count, early_room;

void playing_ask(const HChar* player, const HChar* script) {
    player_path = player;
    script_path = script;
}

static void refuse(const HChar* why) {
    VG_(umsg)("millpond: %s: %s\n", player_path, why);
    VG_(exit)(4);
}

static struct millpond_player_link* map_player(void) {
    const SysRes opened = VG_(open)(player_path, VKI_O_RDONLY, 0);
    if (sr_isError(opened)) refuse("the player cannot be opened");
    const Int file = (Int)sr_Res(opened);
    const Addr at = millpond_player_address;
    const SysRes mapped =
        VG_(am_mmap_anon_fixed_client)(at, millpond_player_bytes_max, VKI_PROT_READ | VKI_PROT_WRITE | VKI_PROT_EXEC);
    if (sr_isError(mapped)) refuse("the program has memory where the player lies");
    const Int bytes = VG_(read)(file, (void*)at, millpond_player_bytes_max);
    VG_(close)(file);
    struct millpond_player_link* link = (struct millpond_player_link*)at;
    if (bytes < (Int)sizeof *link || link->magic != millpond_player_magic) refuse("is no player of this version");
    return link;
}

void playing_on_start(VexGuestAMD64State* state) {
    if (player_path == NULL) return;
    struct millpond_player_link* link = map_player();
    entries_read_all();
    for (UInt function = 1; function < millpond_function_end; ++function)
        link->functions[function] = entries_of_function(function);
    link->dlsym = entries_dlsym();
    if (VG_(strlen)(script_path) >= sizeof link->script) refuse("the name of the script is too long");
    VG_(strcpy)(link->script, script_path);
    entries_add_function(link->mark, millpond_function_millpond_played_call);
    link->executable = millpond_hash_of_path(trace_file_executable());
    state->guest_RDI = link->main;
    playing = link;
}

void playing_on_early_block(Addr address, SizeT bytes) {
    if (player_path == NULL || early_count == early_max) return;
    if (early_count == early_room) {
        early_room = 2 * early_room + 256;
        early = VG_(realloc)("playing.early", early, early_room * sizeof early[0]);
    }
    early[early_count].address = address;
    early[early_count++].bytes = bytes;
}

void playing_on_heap_call(void) {
    if (playing != NULL) ++playing->heap_calls;
}

void playing_on_main(void) {
    if (playing == NULL || early_count == 0) return;
    const SizeT bytes = early_count * sizeof early[0];
    const SysRes mapped =
        VG_(am_mmap_anon_fixed_client)(millpond_early_address, VG_PGROUNDUP(bytes), VKI_PROT_READ | VKI_PROT_WRITE);
    if (sr_isError(mapped)) refuse("the program has memory in front of the player");
    VG_(memcpy)((void*)millpond_early_address, early, bytes);
    playing->early_blocks = millpond_early_address;
    playing->early_count = early_count;
}
