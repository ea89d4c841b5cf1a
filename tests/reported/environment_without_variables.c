// SPDX-License-Identifier: BSL-1.0
// Report: honggyukim/heaptrace 18, gperftools/gperftools 312
// Situation: a program clears its environment and executes itself with an empty one.
// Holds: both images run; getenv of nothing breaks no preloaded library.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
    free(malloc(100));
    if (count > 1) {
        puts(getenv("LD_PRELOAD") == NULL ? "ok" : "wrong");
        return 0;
    }
    clearenv();
    free(malloc(200));
    char* arguments[] = {words[0], "again", NULL};
    char* none[] = {NULL};
    execve(words[0], arguments, none);
    return 1;
}
