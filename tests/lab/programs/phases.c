/* SPDX-License-Identifier: BSL-1.0 */
/* phases: marks phases from C, from C++, from several threads one after the other, and in a child. Blocks of each phase
 * have a size of their own. */
#include <millpond/phase.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void mark_in_cpp(const char* name);

static void* volatile kept;

static void use(size_t bytes, int times) {
    for (int i = 0; i < times; ++i) {
        kept = malloc(bytes);
        free(kept);
    }
}

static void* in_thread(void* unused) {
    (void)unused;
    millpond_phase("thread");
    use(5003, 30);
    return 0;
}

int main(void) {
    char name[400];
    use(5000, 5);
    millpond_phase("load");
    use(5001, 10);
    mark_in_cpp("c++: \xff\"\n\x1b[31m");
    use(5002, 20);
    pthread_t thread;
    if (pthread_create(&thread, 0, &in_thread, 0) != 0 || pthread_join(thread, 0) != 0) return 1;
    use(5003, 3); /* still in the phase that the other thread began */
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    millpond_phase(name);
    use(5004, 40);
    const pid_t child = fork();
    if (child == 0) {
        use(5005, 7);
        millpond_phase("child");
        use(5006, 8);
        _exit(0);
    }
    if (child < 0 || waitpid(child, 0, 0) != child) return 2;
    millpond_phase("load");
    use(5001, 50);
    millpond_phase(0);
    use(5007, 60);
    return 0;
}
