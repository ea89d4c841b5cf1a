// SPDX-License-Identifier: BSL-1.0
// marked: heap calls that a test program counts and that a trace identifies by their sizes.
//
// A process has heap events which its author never wrote (the C++ run time, the loader, thread start). Those that a
// test counts ask for 5000 to 5999 bytes, which nothing else does here; a trace must hold exactly as many as were said.
// Use `marked::allocate` and its kin in test programs, then `marked::say` once, at the end. Counts are atomic; nothing
// here allocates on its own behalf. O(1) a call.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace marked {

inline constexpr std::size_t least_bytes = 5000;
inline constexpr std::size_t size_variation = 1000;

inline std::atomic<unsigned long> allocations{0};
inline std::atomic<unsigned long> frees{0};
inline std::atomic<unsigned long> reallocations{0};

inline std::size_t bytes(unsigned long i) { return least_bytes + i * 37 % size_variation; }

// Writes to the memory, so that the compiler cannot remove the pair of calls.
inline void* written(void* memory, std::size_t size) {
    if (memory == nullptr) std::abort();
    static_cast<volatile char*>(memory)[0] = 1;
    static_cast<volatile char*>(memory)[size - 1] = 2;
    return memory;
}

[[gnu::noinline]] inline void* allocate(unsigned long i) {
    ++allocations;
    return written(std::malloc(bytes(i)), bytes(i));
}

[[gnu::noinline]] inline void release(void* memory) {
    ++frees;
    std::free(memory);
}

[[gnu::noinline]] inline void* reallocate(void* memory, unsigned long i) {
    ++reallocations;
    return written(std::realloc(memory, bytes(i)), bytes(i));
}

// Allocates and frees an object.
[[gnu::noinline]] inline void pass(unsigned long i) {
    void* const memory = allocate(i);
    release(memory);
}

// Prints a line, `text` and a number, without stdio, which would allocate a buffer.
inline void line(const char* text, unsigned long number) {
    char digits[24];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    char out[256];
    const std::size_t length = std::strlen(text) < 200 ? std::strlen(text) : 200;
    std::memcpy(out, text, length);
    out[length] = ' ';
    std::memcpy(out + length + 1, digits + at, sizeof digits - at);
    out[length + 1 + sizeof digits - at] = '\n';
    if (write(STDOUT_FILENO, out, length + 2 + sizeof digits - at) < 0) std::_Exit(99);
}

inline void say() {
    line("allocations", allocations);
    line("frees", frees);
    line("reallocations", reallocations);
}

}  // namespace marked
