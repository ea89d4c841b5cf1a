// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 499, gperftools/gperftools 178, jemalloc/jemalloc 2402
// Situation: several threads allocate and fork at the same time; each child allocates, reads a folder and ends.
// Holds: no child hangs, and each ends with its own status.
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* work(void* failed) {
    for (int i = 0; i < 25; ++i) {
        void* blocks[50];
        for (int k = 0; k < 50; ++k) blocks[k] = malloc((size_t)(k * 37 + 1));
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            for (int k = 0; k < 50; ++k) free(blocks[k]);
            DIR* folder = opendir("/");
            for (int k = 0; k < 200; ++k) free(malloc((size_t)(k * 91 + 1)));
            if (folder != NULL) closedir(folder);
            _exit(folder == NULL ? 9 : 7);
        }
        for (int k = 0; k < 50; ++k) free(blocks[k]);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            *(int*)failed = 1;
    }
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    int failed = 0;
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, work, &failed) != 0) return 1;
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    puts(failed ? "a child did not end well" : "ok");
    return failed;
}
