// SPDX-License-Identifier: BSL-1.0
// Report: gperftools/gperftools 904, gperftools/gperftools 941
// Situation: one thread runs commands by popen and system while others allocate.
// Holds: every command answers.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int stop = 0;
static void* work(void* nothing) {
    void* blocks[64] = {NULL};
    for (unsigned i = 0; !stop; ++i) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(i * 2654435761u % 3000 + 1);
    }
    for (int i = 0; i < 64; ++i) free(blocks[i]);
    return nothing;
}
int main(void) {
    pthread_t threads[3];
    int answers = 0;
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
    for (int i = 0; i < 15; ++i) {
        FILE* output = popen("echo yes", "r");
        char line[16] = "";
        if (output != NULL && fgets(line, sizeof line, output) != NULL && line[0] == 'y') ++answers;
        if (output != NULL) pclose(output);
        answers += system("exit 3") == 3 << 8;
    }
    stop = 1;
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    puts(answers == 30 ? "ok" : "a command did not answer");
    return 0;
}
