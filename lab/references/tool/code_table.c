/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/code_table.h"

struct millpond_table code_table;

static struct millpond_superblock* superblocks;
static struct millpond_exit* exits;
static struct millpond_access* accesses;
static UInt superblock_room, exit_room, access_room;

/* Superblocks by a hash of their address and accesses; open addressing, numbers + 1. */
static UInt* known;
static UInt known_room;

static void* grow(void* old, UInt count, UInt more, UInt* room, SizeT bytes) {
    if (count + more <= *room) return old;
    *room = 2 * (count + more) + 4096;
    return VG_(realloc)("code_table", old, *room * bytes);
}

static UWord hash_words(UWord hash, const void* data, SizeT bytes) {
    const UChar* at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        ULong word;
        VG_(memcpy)(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

static UWord hash_draft(const code_draft* draft) {
    UWord hash = draft->address * 0x9E3779B97F4A7C15ULL + draft->exit_count;
    return hash_words(hash, draft->accesses, draft->access_count * sizeof draft->accesses[0]);
}

static Bool is_same(const struct millpond_superblock* block, const code_draft* draft) {
    if (block->address != draft->address || block->accesses != draft->access_count ||
        block->exits != draft->exit_count || block->roots != draft->root_count)
        return False;
    if (VG_(memcmp)(accesses + block->first_access, draft->accesses, draft->access_count * sizeof accesses[0]) != 0)
        return False;
    for (UInt i = 0; i < draft->exit_count; ++i) {
        const struct millpond_exit* one = &exits[block->first_exit + i];
        const struct millpond_exit* other = &draft->exits[i];
        if (one->accesses != other->accesses || one->roots != other->roots || one->instructions != other->instructions)
            return False;
    }
    return True;
}

static void remember(UInt number, UWord hash) {
    UInt place = hash & (known_room - 1);
    while (known[place] != 0) place = (place + 1) & (known_room - 1);
    known[place] = number + 1;
}

static void grow_known(void) {
    static code_draft draft;
    if (2 * (code_table.superblock_count + 1) <= known_room) return;
    known_room = known_room == 0 ? 1u << 16 : 2 * known_room;
    VG_(free)(known);
    known = VG_(calloc)("code_table.known", known_room, sizeof known[0]);
    for (UInt i = 0; i < code_table.superblock_count; ++i) {
        const struct millpond_superblock* block = &superblocks[i];
        draft.address = block->address;
        draft.access_count = block->accesses;
        draft.exit_count = block->exits;
        draft.root_count = block->roots;
        VG_(memcpy)(draft.accesses, accesses + block->first_access, block->accesses * sizeof accesses[0]);
        remember(i, hash_draft(&draft));
    }
}

UInt code_table_next_exit(void) { return code_table.exit_count; }

UInt code_table_take(const code_draft* draft) {
    grow_known();
    const UWord hash = hash_draft(draft);
    for (UInt place = hash & (known_room - 1); known[place] != 0; place = (place + 1) & (known_room - 1))
        if (is_same(&superblocks[known[place] - 1], draft)) return superblocks[known[place] - 1].first_exit;

    struct millpond_table* t = &code_table;
    superblocks = grow(superblocks, t->superblock_count, 1, &superblock_room, sizeof superblocks[0]);
    exits = grow(exits, t->exit_count, draft->exit_count, &exit_room, sizeof exits[0]);
    accesses = grow(accesses, t->access_count, draft->access_count, &access_room, sizeof accesses[0]);
    t->superblocks = superblocks;
    t->exits = exits;
    t->accesses = accesses;

    struct millpond_superblock* block = &superblocks[t->superblock_count];
    VG_(memset)(block, 0, sizeof *block);
    block->address = draft->address;
    block->first_exit = t->exit_count;
    block->first_access = t->access_count;
    block->first_root = t->root_count;
    block->exits = draft->exit_count;
    block->accesses = draft->access_count;
    block->roots = draft->root_count;
    VG_(memcpy)(accesses + t->access_count, draft->accesses, draft->access_count * sizeof accesses[0]);
    for (UInt i = 0; i < draft->exit_count; ++i) {
        struct millpond_exit* to = &exits[t->exit_count + i];
        *to = draft->exits[i];
        to->first_access = t->access_count;
        to->first_root = t->root_count;
        millpond_describe_exit(to, accesses);
    }
    remember(t->superblock_count, hash);
    t->superblock_count += 1;
    t->exit_count += draft->exit_count;
    t->access_count += draft->access_count;
    t->root_count += draft->root_count;
    return block->first_exit;
}
