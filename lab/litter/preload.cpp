// SPDX-License-Identifier: BSL-1.0
// libmillpond-litter: litters the heap before main, through the program's own malloc, and changes nothing else.
//
//   malloc each size, in order, written whole ── free the drawn ones ── restore the user's environment ── main
//
// Interposes nothing. Runs after the libraries are initialised and before the program itself is. The program's children
// inherit the littered heap by fork, but not by exec.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/litter/pattern_layout.hpp"
#include "preload/pages.hpp"

namespace millpond::litter {
namespace {

constexpr int environment_lacks = 4;

void say(const char* text) noexcept {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, ::strlen(text));
}

[[noreturn]] void give_up(const char* why) noexcept {
    say(why);
    ::_exit(environment_lacks);
}

// Removes our own library, the first, from LD_PRELOAD, in place, without allocating.
void restore_environment() noexcept {
    ::unsetenv(pattern_variable);
    char* const libraries = ::getenv("LD_PRELOAD");
    if (libraries == nullptr) return;
    if (const char* const next = ::strchr(libraries, ':')) {
        ::memmove(libraries, next + 1, ::strlen(next + 1) + 1);
    } else {
        ::unsetenv("LD_PRELOAD");
    }
}

pattern_head* map_pattern(int file) noexcept {
    struct stat about{};
    if (::fstat(file, &about) != 0 || static_cast<std::size_t>(about.st_size) < sizeof(pattern_head)) return nullptr;
    void* const start = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (start == MAP_FAILED) return nullptr;
    auto* const head = static_cast<pattern_head*>(start);
    return head->bytes() == static_cast<std::uint64_t>(about.st_size) ? head : nullptr;
}

void litter_heap(pattern_head& pattern) noexcept {
    const std::size_t book_bytes = pattern.blocks * sizeof(void*);
    void** const blocks = preload::take_pages<void*>(book_bytes);
    if (blocks == nullptr) give_up("millpond: no memory for the table of littering blocks\n");
    const std::uint32_t* const sizes = pattern.sizes();
    for (std::uint64_t i = 0; i < pattern.blocks; ++i) {
        blocks[i] = ::malloc(sizes[i]);
        if (blocks[i] == nullptr) give_up("millpond: the program's malloc had no memory for the littering\n");
        ::memset(blocks[i], 0xa5, sizes[i]);
    }
    const std::uint32_t* const order = pattern.free_order();
    for (std::uint64_t i = 0; i < pattern.freed; ++i) ::free(blocks[order[i]]);
    preload::give_pages(blocks, book_bytes);
}

[[gnu::constructor]] void begin() noexcept {
    const char* const text = ::getenv(pattern_variable);
    if (text == nullptr) return;
    const int before = errno;
    const int file = ::atoi(text);
    restore_environment();
    pattern_head* const pattern = map_pattern(file);
    if (pattern == nullptr) give_up("millpond: the littering pattern did not reach the program\n");
    ::close(file);
    litter_heap(*pattern);
    say(pattern->note);
    ::munmap(pattern, pattern->bytes());
    errno = before;
}

}  // namespace
}  // namespace millpond::litter
