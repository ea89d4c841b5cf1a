/* SPDX-License-Identifier: BSL-1.0
 * another_malloc: glibc's malloc under the name of another library: to be preloaded, and to be told from it. */
#include <stddef.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void __libc_free(void* block);

void* malloc(size_t bytes) { return __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return __libc_realloc(old, bytes); }
void free(void* block) { __libc_free(block); }
