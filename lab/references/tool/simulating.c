/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/simulating.h"

#include "lab/references/expansion.h"
#include "lab/references/tool/code_table.h"
#include "lab/references/tool/trace_file.h"

enum { asked_max = 32, batch_room = 2 * millpond_batch_room_min };

struct millpond_rules simulating_rules;
Bool simulating_with_system;

static const HChar* asked[asked_max];
static UInt asked_count;
static struct millpond_simulation* simulation;
static struct millpond_expansion expansion;
static struct millpond_reference batch[batch_room];
static ULong references;

static void* allocate(size_t bytes) { return VG_(malloc)("simulating", bytes); }

static void release(void* block, size_t bytes) {
    (void)bytes;
    VG_(free)(block);
}

static void fail(const char* why) {
    VG_(umsg)("millpond: %s\n", why);
    VG_(exit)(1);
}

static const struct millpond_system host = {allocate, release, fail};

const HChar* simulating_ask(const HChar* description) {
    if (asked_count == asked_max) return "at most 32 descriptions are taken";
    struct millpond_simulation* tried = millpond_simulation_new(&host, &simulating_rules);
    const HChar* wrong = millpond_simulation_add(tried, description);
    millpond_simulation_delete(tried);
    if (wrong == NULL) asked[asked_count++] = description;
    return wrong;
}

Bool simulating_is_asked(void) { return asked_count != 0; }

void simulating_start(void) {
    if (simulation != NULL) millpond_simulation_delete(simulation);
    simulation = millpond_simulation_new(&host, &simulating_rules);
    for (UInt i = 0; i < asked_count; ++i) millpond_simulation_add(simulation, asked[i]);
    VG_(memset)(&expansion, 0, sizeof expansion);
    expansion.with_system = simulating_with_system;
    references = 0;
}

static ULong instructions(void) { return expansion.instructions[0] + expansion.instructions[1]; }

void simulating_take(const ULong* first, const ULong* last, ULong state) {
    const uint64_t* at = (const uint64_t*)first;
    const uint64_t* const end = (const uint64_t*)last;
    expansion.table = &code_table;
    millpond_set_state(&expansion, state);
    while (at < end || expansion.piece_bytes != 0) {
        const ULong before = instructions();
        const SizeT count = millpond_expand(&expansion, &at, end, batch, batch_room);
        references += count;
        millpond_simulation_take(simulation, batch, count, instructions() - before);
        if (at == end || *at >= millpond_first_exit || *at == millpond_record_system) continue;
        millpond_follow(&expansion, at);
        at += 1 + millpond_operands(*at);
    }
}

void simulating_write(void) {
    const ULong others = expansion.stores + expansion.modifications;
    const ULong kinds[3] = {references - others, expansion.stores, expansion.modifications};
    const ULong by_origin[2] = {expansion.instructions[0], expansion.instructions[1]};
    trace_file_write_counts(simulation, by_origin, kinds, &simulating_rules);
}
