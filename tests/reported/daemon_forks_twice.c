// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 741, gperftools/gperftools 771
// Situation: a program forks twice before it has done anything else, as a daemon does, and the grandchild starts
//   threads.
// Holds: the grandchild's threads allocate, and it ends well.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* work(void* nothing) {
    for (int i = 0; i < 5000; ++i) free(malloc((size_t)(i % 700 + 1)));
    return nothing;
}
int main(void) {
    int done[2];
    if (pipe(done) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) {
        if (fork() != 0) _exit(0);
        pthread_t threads[5];
        for (int i = 0; i < 5; ++i)
            if (pthread_create(&threads[i], NULL, work, NULL) != 0) _exit(2);
        for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
        if (write(done[1], "ok\n", 3) != 3) _exit(3);
        exit(0);
    }
    waitpid(child, NULL, 0);
    close(done[1]);
    char text[8] = "";
    const ssize_t bytes = read(done[0], text, sizeof text - 1);
    fputs(bytes > 0 ? text : "the grandchild said nothing\n", stdout);
    return bytes <= 0;
}
