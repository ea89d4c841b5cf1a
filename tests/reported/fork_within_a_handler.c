// SPDX-License-Identifier: BSL-1.0
// Report: xroche/httrack 968, OFFTKP/felix86 767
// Situation: a timer interrupts a program that allocates all the time, and the handler forks; the child executes
//   another program.
// Holds: no fork hangs, every child runs.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t children = 0;
static void handle(int number) {
    (void)number;
    const pid_t child = _Fork();
    if (child == 0) {
        execl("/bin/true", "true", (char*)NULL);
        _exit(1);
    }
    int status = 1;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) ++children;
}
int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &every, NULL);
    void* blocks[100] = {NULL};
    for (unsigned i = 0; children < 30; ++i) {
        free(blocks[i % 100]);
        blocks[i % 100] = malloc(i * 2654435761u % 2000 + 1);
    }
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    puts("ok");
    return 0;
}
