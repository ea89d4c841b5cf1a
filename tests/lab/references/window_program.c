// SPDX-License-Identifier: BSL-1.0
// window_program: functions for windows, in a program that opens no library and starts no other program.
#include <stdlib.h>

__attribute__((noinline)) void working(void) {
    for (int i = 0; i < 2000; ++i) {
        volatile char* block = malloc((size_t)(1 + i % 1000));
        block[0] = 1;
        free((void*)block);
    }
}

static inline __attribute__((always_inline)) int folded(int x) {
    int* place = malloc(sizeof *place);
    *place = x;
    const int result = *place;
    free(place);
    return result;
}

int main(int count, char** words) {
    (void)words;
    working();
    return folded(count) != count;
}
