// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 574, Arinerron/heaptrace 37
// Situation: realloc and reallocarray of null, to zero bytes, and with a product that overflows.
// Holds: nothing sets errno but what fails; what fails keeps the block; realloc to zero bytes frees.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    int faults = 0;
    errno = 0;
    void* empty = realloc(NULL, 0);
    faults += empty == NULL || errno != 0;
    free(empty);
    empty = reallocarray(NULL, 0, 16);
    faults += empty == NULL || errno != 0;
    free(empty);
    char* block = malloc(40);
    strcpy(block, "kept");
    const volatile size_t many = SIZE_MAX / 8;
    faults += reallocarray(block, many, 16) != NULL || errno != ENOMEM || strcmp(block, "kept") != 0;
    errno = 0;
    faults += realloc(block, many * 4) != NULL || errno != ENOMEM || strcmp(block, "kept") != 0;
    errno = 0;
    faults += calloc(many, 16) != NULL || errno != ENOMEM;
    faults += realloc(block, 0) != NULL;
    puts(faults == 0 ? "ok" : "wrong");
    return faults;
}
