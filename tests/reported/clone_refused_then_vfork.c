// SPDX-License-Identifier: BSL-1.0
// Report: DynamoRIO/dynamorio 5903, DynamoRIO/dynamorio 1012
// Situation: clone3 fails with flags that the kernel does not know; posix_spawn and vfork with exec follow, while
//   a thread allocates.
// Holds: every child runs, and the parent's handlers stay installed.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
static volatile sig_atomic_t signals = 0;
static volatile int stop = 0;
static void count(int number) { signals += number == SIGUSR1; }
static void* work(void* nothing) {
    while (!stop) free(malloc((size_t)(rand() % 500 + 1)));
    return nothing;
}
int main(void) {
    pthread_t thread;
    signal(SIGUSR1, count);
    if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    int ended = 0;
    for (int i = 0; i < 10; ++i) {
        uint64_t arguments[11] = {0x800000000000ULL | 0x4100};
        if (syscall(SYS_clone3, arguments, sizeof arguments) != -1) return 2;
        char* words[] = {"true", NULL};
        pid_t child = 0;
        int status = 1;
        if (posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0 && waitpid(child, &status, 0) == child)
            ended += status == 0;
        child = vfork();
        if (child == 0) {
            execvp("true", words);
            _exit(9);
        }
        if (waitpid(child, &status, 0) == child) ended += status == 0;
        raise(SIGUSR1);
    }
    stop = 1;
    pthread_join(thread, NULL);
    puts(ended == 20 && signals == 10 ? "ok" : "wrong");
    return 0;
}
