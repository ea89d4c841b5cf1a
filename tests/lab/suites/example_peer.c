/* SPDX-License-Identifier: BSL-1.0 */
/* A complete adapter (lab/suites/library/peer_adapter.h) around the simplest possible pool: malloc and a list of all
   blocks, so that destroying the pool frees the remaining blocks.

     pool ─▶ │previous│next│ block │ ⇄ │previous│next│ block │ */
#include "lab/suites/library/peer_adapter.h"

#include <stdlib.h>

typedef struct node {
    struct node* previous;
    struct node* next;
} node;

void* millpond_peer_create(void) { return calloc(1, sizeof(node)); }

void* millpond_peer_allocate(void* pool, size_t bytes, size_t alignment) {
    node* const first = pool;
    node* const fresh = malloc(sizeof(node) + bytes);
    (void)alignment;
    if (fresh == NULL) return NULL;
    fresh->previous = first;
    fresh->next = first->next;
    if (first->next != NULL) first->next->previous = fresh;
    first->next = fresh;
    return fresh + 1;
}

void millpond_peer_deallocate(void* pool, void* block, size_t bytes, size_t alignment) {
    node* const gone = (node*)block - 1;
    (void)pool, (void)bytes, (void)alignment;
    gone->previous->next = gone->next;
    if (gone->next != NULL) gone->next->previous = gone->previous;
    free(gone);
}

void millpond_peer_destroy(void* pool) {
    node* const first = pool;
    while (first->next != NULL) millpond_peer_deallocate(pool, first->next + 1, 0, 0);
    free(first);
}

const char* millpond_peer_name(void) { return "example"; }
const char* millpond_peer_version(void) { return "1"; }
