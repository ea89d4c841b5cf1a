/* SPDX-License-Identifier: BSL-1.0
 * Forks in the ways that are hard for whatever stands below malloc. Usage: forking MODE
 *
 *   streams   forks while threads read lines and another flushes all streams: fork and stdio share locks
 *   threads   forks while four threads allocate; the children go on, and free what they inherited
 *   handlers  a signal handler forks, whatever it interrupts: malloc, free or fork itself. One thread
 *   _Fork, clone, vfork, spawn   other ways to a child
 *   daemon    two forks and a session of its own, and the daemon outlives its parents
 *   fifty     fifty children at once
 *   chain     a child of a child … forty times
 *   late      a child whose first allocation is a thread's
 *   count KIND N   a child by fork, _Fork or clone that allocates N times, and does nothing else
 *
 * Children check every block that they have. Prints what is the same in every run; ends with 1 if anything did not
 * hold, and by its alarm if it hangs. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
enum { blocks_max = 300, patience_seconds = 100 };
static unsigned char* blocks[blocks_max];
static size_t sizes[blocks_max];
static _Noreturn void fail(const char* what) {
    dprintf(STDERR_FILENO, "forking: %s\n", what);
    _exit(1);
}

static void renew(int i, size_t bytes) {
    for (size_t at = 0; blocks[i] != NULL && at < sizes[i]; ++at)
        if (blocks[i][at] != (unsigned char)i) fail("a block was overwritten");
    free(blocks[i]);
    blocks[i] = (unsigned char*)malloc(bytes);
    if (blocks[i] == NULL) fail("no memory");
    memset(blocks[i], i, sizes[i] = bytes);
}

static void churn(unsigned seed, int rounds) {
    while (rounds-- > 0) {
        seed = seed * 1103515245u + 12345u;
        renew((int)(seed >> 16) % blocks_max, 1 + (seed >> 8) % (seed % 16 == 0 ? 40000 : 700));
    }
}

static void free_all(void) {
    for (int i = 0; i < blocks_max; ++i) {
        renew(i, 8);
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static _Noreturn void go_on_as_child(unsigned seed) {
    alarm(patience_seconds);
    churn(seed, 400);
    free_all();
    _exit(7);
}

static void expect_seven(pid_t child) {
    int status = 0;
    if (child < 0) fail("no child");
    while (waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR) fail("waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) fail("a child did not end as it should");
}

static volatile int stop;
static char file_name[] = "/tmp/forking_XXXXXX";

static void* read_lines(void* argument) {
    FILE* const file = fopen(file_name, "r");
    if (file == NULL) fail("fopen");
    while (!stop) {
        char* line = NULL;
        size_t room = 0;
        rewind(file);
        if (getline(&line, &room, file) != 600) fail("getline");
        free(line);
    }
    fclose(file);
    return argument;
}

static void* flush_streams(void* argument) {
    while (!stop) {
        fflush(NULL);
        sched_yield();
    }
    return argument;
}

static void streams(void) {
    char line[600];
    memset(line, 'x', sizeof line);
    line[599] = '\n';
    const int file = mkstemp(file_name);
    if (file < 0 || write(file, line, sizeof line) != (ssize_t)sizeof line) fail("mkstemp");
    pthread_t ids[4];
    for (int i = 0; i < 4; ++i) pthread_create(ids + i, NULL, i < 3 ? &read_lines : &flush_streams, NULL);
    for (unsigned i = 0; i < 80; ++i) {
        churn(i, 10);
        const pid_t child = fork();
        if (child == 0) go_on_as_child(i);
        expect_seven(child);
    }
    stop = 1;
    for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
    unlink(file_name);
}

static void* allocate_steadily(void* argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    unsigned char* own[64] = {NULL};
    while (!stop) {
        seed = seed * 1103515245u + 12345u;
        const unsigned i = (seed >> 16) % 64;
        free(own[i]);
        own[i] = (unsigned char*)malloc(1 + (seed >> 8) % 3000);
        if (own[i] == NULL) fail("no memory");
        *own[i] = 1;
    }
    for (int i = 0; i < 64; ++i) free(own[i]);
    return NULL;
}

static void threads(void) {
    pthread_t ids[4];
    for (uintptr_t i = 0; i < 4; ++i) pthread_create(ids + i, NULL, &allocate_steadily, (void*)(i + 1));
    for (unsigned i = 0; i < 80; ++i) {
        churn(i, 10);
        const pid_t child = i % 3 == 1 ? _Fork() : fork();
        if (child == 0) {
            if (i % 9 == 0) { /* with threads of its own */
                pthread_t id;
                stop = 1;
                for (uintptr_t k = 0; k < 3; ++k)
                    if (pthread_create(&id, NULL, &allocate_steadily, (void*)k) != 0 || pthread_join(id, NULL) != 0)
                        fail("no thread in a child");
            }
            go_on_as_child(i);
        }
        expect_seven(child);
    }
    stop = 1;
    for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
}

static volatile sig_atomic_t handled;
static void fork_in_handler(int signal_number) {
    (void)signal_number;
    const int before = errno;
    const pid_t child = fork();
    if (child == 0) _exit(7);
    expect_seven(child);
    ++handled;
    errno = before;
}

static void handlers(void) {
    struct sigaction on = {.sa_handler = &fork_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &on, NULL);
    const pid_t me = getpid();
    const pid_t sender = fork();
    if (sender == 0) {
        alarm(patience_seconds);
        while (kill(me, SIGUSR1) == 0)
            for (int i = 0; i < 20; ++i) sched_yield();
        _exit(0);
    }
    for (unsigned i = 0; handled < 200; ++i) {
        churn(i, 200);
        const pid_t child = fork();
        if (child == 0) {
            signal(SIGUSR1, SIG_IGN);
            go_on_as_child(i);
        }
        expect_seven(child);
    }
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
}

static void daemon_twice(void) {
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    const pid_t first = fork();
    if (first == 0) {
        churn(1, 50);
        if (setsid() < 0) fail("setsid");
        const pid_t second = fork();
        if (second != 0) _exit(7);
        alarm(patience_seconds);
        if (chdir("/") != 0) fail("chdir");
        close(ends[0]);
        close(0), close(1);
        churn(2, 400);
        free_all();
        if (write(ends[1], "d", 1) != 1) fail("write");
        _exit(0);
    }
    expect_seven(first);
    close(ends[1]);
    char done = 0;
    while (read(ends[0], &done, 1) < 0 && errno == EINTR) continue;
    if (done != 'd') fail("the daemon did not end as it should");
    close(ends[0]);
}

static void fifty(void) {
    pid_t children[50];
    for (unsigned i = 0; i < 50; ++i) {
        churn(i, 20);
        children[i] = fork();
        if (children[i] == 0) go_on_as_child(i);
    }
    for (int i = 0; i < 50; ++i) expect_seven(children[i]);
}

static void chain(int depth) {
    churn((unsigned)depth, 50);
    if (depth == 0) return;
    const pid_t child = depth % 2 == 0 ? fork() : _Fork();
    if (child == 0) {
        alarm(patience_seconds);
        chain(depth - 1);
        free_all();
        _exit(7);
    }
    expect_seven(child);
}

static void* churn_in_thread(void* argument) {
    churn(5, 400);
    return argument;
}

/* The stack of the thread was another's before, so that making it allocates nothing. */
static void late(void) {
    for (unsigned i = 0; i < 20; ++i) {
        pthread_t id;
        if (pthread_create(&id, NULL, &churn_in_thread, NULL) != 0) fail("no thread");
        pthread_join(id, NULL);
        const pid_t child = _Fork();
        if (child == 0) {
            alarm(patience_seconds);
            if (pthread_create(&id, NULL, &churn_in_thread, NULL) != 0) fail("no thread in a child");
            pthread_join(id, NULL);
            go_on_as_child(i);
        }
        expect_seven(child);
    }
}

static pid_t child_by(const char* kind) {
    if (kind[0] == '_') return _Fork();
    return kind[0] == 'c' ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
}

static void count(const char* kind, long allocations) {
    const pid_t child = child_by(kind);
    if (child == 0) {
        alarm(patience_seconds);
        for (long i = 0; i < allocations; ++i) {
            void* volatile block = malloc(777);
            free(block);
        }
        _exit(7);
    }
    expect_seven(child);
}

static void exec_by_vfork(char* self) {
    char mode[] = "seven";
    char* const arguments[] = {self, mode, NULL};
    static int i; /* vfork shares the stack */
    for (i = 0; i < 20; ++i) {
        churn((unsigned)i, 50);
        const pid_t child = vfork();
        if (child == 0) {
            execve(self, arguments, environ);
            _exit(97);
        }
        expect_seven(child);
    }
}

static void exec_by_spawn(char* self) {
    char mode[] = "seven";
    char* const arguments[] = {self, mode, NULL};
    for (int i = 0; i < 20; ++i) {
        churn((unsigned)i, 50);
        pid_t child = -1;
        if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0) fail("posix_spawn");
        expect_seven(child);
    }
}

int main(int argc, char** argv) {
    const char* const mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "seven") == 0) {
        churn(3, 300);
        return 7;
    }
    alarm(patience_seconds);
    churn(4, 600);
    if (strcmp(mode, "streams") == 0)
        streams();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "handlers") == 0)
        handlers();
    else if (strcmp(mode, "daemon") == 0)
        daemon_twice();
    else if (strcmp(mode, "fifty") == 0)
        fifty();
    else if (strcmp(mode, "chain") == 0)
        chain(40);
    else if (strcmp(mode, "late") == 0)
        late();
    else if (strcmp(mode, "count") == 0 && argc == 4)
        count(argv[2], atol(argv[3]));
    else if (strcmp(mode, "vfork") == 0)
        exec_by_vfork(argv[0]);
    else if (strcmp(mode, "spawn") == 0)
        exec_by_spawn(argv[0]);
    else if (strcmp(mode, "_Fork") == 0 || strcmp(mode, "clone") == 0) {
        for (unsigned i = 0; i < 40; ++i) {
            churn(i, 50);
            const pid_t child = child_by(mode);
            if (child == 0) go_on_as_child(i);
            expect_seven(child);
        }
    } else
        return 2;
    churn(6, 600);
    free_all();
    printf("%s: all children ended as they should\n", mode);
    return 0;
}
