# SPDX-License-Identifier: BSL-1.0
"""Writes the test of a written C header: random operations on each pool, checked against a record of all blocks."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_homes import AdvisedAllocator
from millpond.advice.code_pool import C_HEADER, comment

C_TEST = "millpond_advice_test.c"


def c_test(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the test."""
    head = _HEAD.replace("PROGRAM", comment(program)).replace("HEADER", C_HEADER)
    calls = "".join(f"    test_{home.name}();\n" for home in homes)
    return head + "".join(_HOME.replace("NAME", home.name) for home in homes) + _MAIN.replace("CALLS", calls)


_HEAD = """\
/* Runs random operations on the pools of HEADER and checks that blocks do not overlap and keep their contents.
 *
 * The header was written for PROGRAM. Compile once also with -DMILLPOND_CHECKED. The argument is a seed. */
#include "HEADER"

#include <stdio.h>
#include <time.h>

#define BLOCKS 400
#define OPERATIONS 20000

typedef struct held_block {
    unsigned char* block;
    size_t bytes;
    unsigned char mark;
    int by_address; /* from malloc, or resized by address */
} held_block;

static held_block held[BLOCKS];
static uint32_t state;
static int failures;

static uint32_t below(uint32_t limit) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % limit;
}

static void expect(int holds, const char* what, int operation) {
    if (holds) return;
    ++failures;
    fprintf(stderr, "operation %d: %s\\n", operation, what);
}

static size_t some_bytes(void) {
    switch (below(8)) {
        case 0:
            return below(70000);
        case 1:
            return below(3000);
        default:
            return below(130);
    }
}

static void fill(held_block* one, void* block, size_t bytes, int operation) {
    one->block = (unsigned char*)block;
    one->bytes = bytes;
    one->mark = (unsigned char)below(256);
    expect(block != NULL, "there is no memory", operation);
    expect((uintptr_t)block % (bytes > 8 ? 16 : 8) == 0, "a block is not aligned", operation);
    if (block != NULL) memset(block, one->mark, bytes);
}

static void look_at(const held_block* one, size_t bytes, int operation) {
    size_t i;
    for (i = 0; i < bytes && one->block[i] == one->mark; ++i) {
    }
    expect(i == bytes, "a block has lost its contents", operation);
}
"""

_HOME = """
static void test_NAME(void) {
    int operation;
    size_t i;
    memset(held, 0, sizeof held);
    for (operation = 0; operation < OPERATIONS; ++operation) {
        held_block* const one = &held[below(BLOCKS)];
        const size_t bytes = some_bytes(), before = one->bytes;
        if (one->block == NULL) {
            one->by_address = below(8) == 0;
            fill(one, one->by_address ? malloc(bytes + 1) : NAME_allocate(bytes), bytes, operation);
            expect(NAME_owns(one->block) == (!one->by_address && bytes <= MILLPOND_POOLED_MAX), "owns is wrong",
                   operation);
            continue;
        }
        look_at(one, one->bytes, operation);
        if (below(3) == 0) {
            const size_t wanted = bytes + (bytes == 0);
            const int by_address = one->by_address || below(2) == 0;
            void* const block =
                by_address ? NAME_resize_any(one->block, wanted) : NAME_resize(one->block, before, wanted);
            one->block = (unsigned char*)block;
            look_at(one, before < wanted ? before : wanted, operation);
            one->by_address = by_address;
            fill(one, block, wanted, operation);
            continue;
        }
        if (one->by_address || below(2) == 0)
            NAME_free_any(one->block);
        else
            NAME_free(one->block, one->bytes);
        one->block = NULL;
    }
    for (i = 0; i < BLOCKS; ++i) NAME_free_any(held[i].block);
    NAME_free_any(NULL);
    NAME_free(NULL, 5);
    expect(!NAME_owns(&operation), "owns is wrong for an address outside the heap", operation);
}
"""

_MAIN = """
int main(int count, char** arguments) {
    const unsigned seed = count > 1 ? (unsigned)strtoul(arguments[1], NULL, 10) : (unsigned)time(NULL);
    printf("seed %u\\n", seed);
    state = seed * 2654435761u | 1;
CALLS    printf(failures == 0 ? "ok\\n" : "%d failures\\n", failures);
    return failures == 0 ? 0 : 1;
}
"""
