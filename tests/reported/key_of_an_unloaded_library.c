// SPDX-License-Identifier: BSL-1.0
// Report: microsoft/mimalloc 809
// Situation: a library makes a thread-specific key whose destructor frees, a thread uses it, the library deletes
//   its key and is unloaded, and the thread ends later.
// Holds: the thread ends.
// Build: $CC -O1 -shared -fPIC -DPLUGIN $SOURCE -o plugin.so
// Build: $CC -O1 -g -pthread $SOURCE -o program
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef PLUGIN
static pthread_key_t key;
__attribute__((constructor)) static void begin(void) { pthread_key_create(&key, free); }
__attribute__((destructor)) static void end(void) { pthread_key_delete(key); }
void use(void) {
    if (pthread_getspecific(key) == NULL) pthread_setspecific(key, malloc(120));
}
#else
static pthread_barrier_t used, closed;
static void (*use)(void);
static void* work(void* nothing) {
    use();
    free(malloc(50));
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    free(malloc(60));
    return nothing;
}
int main(void) {
    for (int round = 0; round < 30; ++round) {
        pthread_t thread;
        pthread_barrier_init(&used, NULL, 2);
        pthread_barrier_init(&closed, NULL, 2);
        void* library = dlopen("./plugin.so", RTLD_NOW);
        if (library == NULL) return 1;
        use = (void (*)(void))dlsym(library, "use");
        if (pthread_create(&thread, NULL, work, NULL) != 0) return 2;
        pthread_barrier_wait(&used);
        dlclose(library);
        pthread_barrier_wait(&closed);
        pthread_join(thread, NULL);
    }
    puts("ok");
    return 0;
}
#endif
