/* SPDX-License-Identifier: BSL-1.0
 * player_link: the data that the capturing tool and the player (player.c) share. The player lies at a fixed address of
 * the program, and begins with this. Freestanding C11. */
#ifndef MILLPOND_LAB_REFERENCES_PLAYER_PLAYER_LINK_H
#define MILLPOND_LAB_REFERENCES_PLAYER_PLAYER_LINK_H

#include <stdint.h>

static const uint64_t millpond_player_magic = 0x524559414C50504DULL; /* "MPPLAYER" */
/* Below Valgrind itself, and far behind where a program of usual size maps. As player.ld has it. */
static const uint64_t millpond_player_address = 0x50000000u;
static const uint64_t millpond_player_bytes_max = 1u << 20;
/* The lowest address, below the player, for blocks that the program allocated before main. */
static const uint64_t millpond_early_address = 0x4E000000u;
enum { millpond_player_path_max = 4096 };

/* An allocation before main. */
struct millpond_early_block {
    uint64_t address, bytes;
};

/* Returns the next block of this size from `next` on, and moves `next` behind it; null if not found. */
static inline const struct millpond_early_block* millpond_find_early(const struct millpond_early_block* blocks,
                                                                     uint64_t count, uint64_t bytes, uint64_t* next) {
    for (uint64_t i = *next; i < count; ++i)
        if (blocks[i].bytes == bytes) {
            *next = i + 1;
            return &blocks[i];
        }
    return 0;
}

struct millpond_player_link {
    uint64_t magic;
    uint64_t main; /* what runs in the place of the program's main */
    uint64_t mark; /* millpond_played_call */
    /* Filled in by the tool. */
    uint64_t dlsym;         /* of the C library; 0: a static program */
    uint64_t functions[64]; /* by number (heap_functions.h): where one of that name begins; 0: none */
    uint64_t early_blocks;  /* all allocations before main, in order: where they are listed */
    uint64_t early_count;
    uint64_t executable;                   /* millpond_hash_of_path of the program's file */
    uint64_t heap_calls;                   /* so far, as the tool counts them */
    char script[millpond_player_path_max]; /* call_script.h */
};

#endif
