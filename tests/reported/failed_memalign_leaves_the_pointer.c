// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 27, microsoft/mimalloc 55
// Situation: posix_memalign is called with alignments that are no power of two or no multiple of a pointer, and
//   with sizes that no machine has.
// Holds: it returns EINVAL or ENOMEM, leaves the pointer and errno as they were; aligned_alloc and memalign fail
//   with errno set.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    const size_t wrong[] = {0, 1, 2, 3, 4, 7, 12, 24, 100, 4097};
    char mark = 0;
    void* block = &mark;
    int faults = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        errno = 77;
        const int status = posix_memalign(&block, wrong[i], 100);
        faults += status != EINVAL || block != &mark || errno != 77;
    }
    const volatile size_t huge = PTRDIFF_MAX;
    errno = 77;
    faults += posix_memalign(&block, 64, huge) != ENOMEM || block != &mark || errno != 77;
    errno = 0;
    faults += aligned_alloc(64, huge) != NULL || errno != ENOMEM;
    errno = 0;
    faults += memalign(64, huge) != NULL || errno != ENOMEM;
    puts(faults == 0 ? "ok" : "wrong");
    return faults;
}
