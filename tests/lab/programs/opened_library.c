/* SPDX-License-Identifier: BSL-1.0
 * What `opened` opens: it allocates and frees by the malloc that its own calls find, and has a function of a name that
 * the program exports, too. */
#include <stdlib.h>
#include <string.h>

int which(void) { return 2; }
int whose(void) { return which(); }

char* grow(char* block, size_t bytes) {
    block = realloc(block, bytes);
    memset(block, 'x', bytes - 1);
    block[bytes - 1] = 0;
    return block;
}
void drop(void* block) { free(block); }
char* give(void) {
    char* volatile p = malloc(24);
    strcpy(p, "from the library");
    return p;
}
