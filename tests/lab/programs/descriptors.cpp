// SPDX-License-Identifier: BSL-1.0
// descriptors: changes files, limits and folders as a program may do while a preloaded library keeps files open in it.
// Usage: descriptors MODE
//
//   numbers  the next free numbers are the lowest ones, as POSIX says
//   close    closes every descriptor but the standard ones, then opens files under the freed numbers and writes to them
//   limit    forbids itself more open files and larger files (RLIMIT_NOFILE, RLIMIT_FSIZE)
//   folder   changes its folder and its umask, and writes a file
//   silent   closes standard input, output and error
//
// Objects come and go before and after; the files that it writes are its output.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string_view>

#include "marked.hpp"

namespace {

void pass_some() {
    for (unsigned long i = 0; i < 15'000; ++i) marked::pass(i);
}

// Writes 1000 lines to each of eight files; any foreign write to their descriptors would show in them.
void write_files() {
    int files[8];
    for (int i = 0; i < 8; ++i) {
        const char name[] = {'f', static_cast<char>('0' + i), '\0'};
        files[i] = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (files[i] < 0) std::_Exit(96);
    }
    for (int line = 0; line < 1000; ++line) {
        for (const int file : files) {
            if (write(file, "a line\n", 7) != 7) std::_Exit(95);
            marked::pass(static_cast<unsigned long>(line));
        }
    }
    for (const int file : files) close(file);
}

int numbers() {
    pass_some();
    for (int i = 0; i < 5; ++i) marked::line("descriptor", static_cast<unsigned long>(open("/dev/null", O_RDONLY)));
    pass_some();
    marked::say();
    return 0;
}

int closes() {
    pass_some();
    for (int i = 3; i < 70'000; ++i) close(i);
    write_files();
    pass_some();
    marked::say();
    return 0;
}

int limits() {
    const rlimit files{16, 16};
    const rlimit length{8192, 8192};
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || setrlimit(RLIMIT_FSIZE, &length) != 0) return 96;
    write_files();
    pass_some();
    marked::say();
    return 0;
}

int folder() {
    pass_some();
    umask(0777);
    if (mkdir("inner", 0755) != 0 || chmod("inner", 0755) != 0 || chdir("inner") != 0) return 96;
    umask(022);
    write_files();
    pass_some();
    marked::say();
    return 0;
}

int silent() {
    close(0);
    close(1);
    close(2);
    pass_some();
    // Three files that now have the standard numbers.
    write_files();
    return 23;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (mode == "numbers") return numbers();
    if (mode == "close") return closes();
    if (mode == "limit") return limits();
    if (mode == "folder") return folder();
    if (mode == "silent") return silent();
    return 2;
}
