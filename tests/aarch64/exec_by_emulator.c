// SPDX-License-Identifier: BSL-1.0
// exec_by_emulator: preloaded into an emulated program, lets it start aarch64 programs where the kernel cannot.
//
//   emulated millpond-record ──execve PROGRAM──▶ qemu-aarch64 -R 8G -L ROOT -0 NAME -E LD_PRELOAD=… PROGRAM ARGUMENTS…
//
// The environment gives MILLPOND_EMULATOR (the emulator's path) and MILLPOND_EMULATOR_ROOT (ROOT). LD_PRELOAD becomes
// an argument, because its libraries are for the emulated program only. Allocates nothing.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { words_max = 4096, machine_at = 18, machine_aarch64 = 183, preload_bytes_max = 8192 };

static int is_emulated(const char* path) {
    unsigned char head[machine_at + 2];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t bytes = read(file, head, sizeof head);
    close(file);
    return bytes == (ssize_t)sizeof head && memcmp(head, "\177ELF", 4) == 0 && head[machine_at] == machine_aarch64;
}

int execve(const char* path, char* const arguments[], char* const environment[]) {
    static char preload[preload_bytes_max];
    static const char* words[words_max];
    static const char* variables[words_max];
    const char* const emulator = getenv("MILLPOND_EMULATOR");
    const char* const root = getenv("MILLPOND_EMULATOR_ROOT");
    if (emulator == NULL || root == NULL || !is_emulated(path))
        return (int)syscall(SYS_execve, path, arguments, environment);
    size_t word = 0, variable = 0;
    // Pools reserve addresses, and the emulator's tables grow with them: 8 GiB of addresses are enough for a test.
    const char* const first[] = {emulator, "-R", "8G", "-L", root, "-0", arguments[0]};
    for (; word < sizeof first / sizeof *first; ++word) words[word] = first[word];
    for (; *environment != NULL && variable + 1 < words_max; ++environment) {
        if (strncmp(*environment, "LD_PRELOAD=", 11) != 0) {
            variables[variable++] = *environment;
            continue;
        }
        if (strlen(*environment) >= sizeof preload) return errno = E2BIG, -1;
        // The emulator splits the argument at commas.
        strcpy(preload, *environment);
        words[word++] = "-E";
        words[word++] = preload;
    }
    words[word++] = path;
    for (size_t i = 1; arguments[i] != NULL; ++i) {
        if (word + 1 >= words_max) return errno = E2BIG, -1;
        words[word++] = arguments[i];
    }
    return (int)syscall(SYS_execve, emulator, words, variables);
}
