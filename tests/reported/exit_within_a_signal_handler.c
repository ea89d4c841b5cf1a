// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 1109, jemalloc/jemalloc 609
// Situation: a process that was forked starts threads that allocate, and leaves by exit from a signal handler.
// Holds: it ends with the handler's status; nothing hangs. (The signal comes while the main thread sleeps.)
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void leave(int number) { exit(number == SIGUSR1 ? 5 : 6); }
static void* work(void* nothing) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (;;) free(malloc((size_t)(rand() % 900 + 1)));
    return nothing;
}
int main(void) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, leave);
        pthread_t threads[3];
        for (int i = 0; i < 3; ++i)
            if (pthread_create(&threads[i], NULL, work, NULL) != 0) _exit(2);
        usleep(20000);
        kill(getpid(), SIGUSR1);
        for (;;) pause();
    }
    int status = 0;
    waitpid(child, &status, 0);
    puts(WIFEXITED(status) && WEXITSTATUS(status) == 5 ? "ok" : "wrong");
    return 0;
}
