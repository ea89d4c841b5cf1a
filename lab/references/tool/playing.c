/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/playing.h"

#include "lab/layout/player_link.h"
#include "lab/references/heap_functions.h"
#include "lab/references/tool/entries.h"

static const HChar *player_path, *script_path;

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
    state->guest_RDI = link->main;
    player_path = NULL; /* of this image alone */
}
