// SPDX-License-Identifier: BSL-1.0
// arrays: the ways to append numbers without knowing how many there will be, each with push_back.
//
//   vector_array    std::vector                            twice the memory, everything copied, now and then
//   deque_array     std::deque                             blocks of 512 bytes
//   realloc_array   realloc to twice the bytes             copied, or moved by the page tables where the malloc can
//   mremap_array    mremap to twice the bytes              moved by the page tables
//   millpond_array  dyn_array                              never copied
//   control_array   memory that is there before the clock  what appending itself costs: no array can be quicker
//
// C::array(elements, huge) makes an empty one that need not know `elements`; `huge` asks for huge pages where the array
// has a say. Memory that cannot be had is std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <new>
#include <string_view>
#include <vector>

#include "millpond/container/dyn_array.hpp"

namespace millpond::suites {

struct vector_array : std::vector<int> {
    static constexpr std::string_view name = "vector";
    vector_array(std::uint64_t, bool) {}
};

struct deque_array : std::deque<int> {
    static constexpr std::string_view name = "deque";
    deque_array(std::uint64_t, bool) {}
};

// Sixteen times what will be there: it does not know.
struct millpond_array : dyn_array<int> {
    static constexpr std::string_view name = "dyn_array";
    millpond_array(std::uint64_t elements, bool huge)
        : dyn_array<int>(elements * 16, commit_steps{.huge_pages = huge}) {}
};

// What realloc_array and mremap_array have in common: where the next one goes.
class bare_array {
  public:
    bare_array() = default;
    bare_array(const bare_array&) = delete;
    bare_array& operator=(const bare_array&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return used; }
    int& operator[](std::size_t at) noexcept { return first[at]; }

  protected:
    ~bare_array() = default;
    int* first = nullptr;
    std::size_t used = 0;
    std::size_t room = 0;
};

class realloc_array : public bare_array {
  public:
    static constexpr std::string_view name = "realloc";
    realloc_array(std::uint64_t, bool) {}
    ~realloc_array() { std::free(first); }

    void push_back(int number) {
        if (used == room) [[unlikely]]
            grow();
        first[used++] = number;
    }

  private:
    [[gnu::noinline, gnu::cold]] void grow() {
        const std::size_t wanted = room == 0 ? 1 : 2 * room;
        void* const grown = std::realloc(first, wanted * sizeof(int));
        if (grown == nullptr) throw std::bad_alloc();
        first = static_cast<int*>(grown);
        room = wanted;
    }
};

class mremap_array : public bare_array {
  public:
    static constexpr std::string_view name = "mremap";
    mremap_array(std::uint64_t, bool huge) : huge_(huge) {}
    ~mremap_array() {
        if (first != nullptr) ::munmap(first, room * sizeof(int));
    }

    void push_back(int number) {
        if (used == room) [[unlikely]]
            grow();
        first[used++] = number;
    }

  private:
    static constexpr std::size_t first_bytes = 4096;

    [[gnu::noinline, gnu::cold]] void grow() {
        const std::size_t bytes = room * sizeof(int);
        const std::size_t wanted = bytes == 0 ? first_bytes : 2 * bytes;
        void* const grown = bytes == 0
                                ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                : ::mremap(first, bytes, wanted, MREMAP_MAYMOVE);
        if (grown == MAP_FAILED) throw std::bad_alloc();
        if (huge_) ::madvise(grown, wanted, MADV_HUGEPAGE);
        first = static_cast<int*>(grown);
        room = wanted / sizeof(int);
    }

    bool huge_;
};

// The memory is asked for and touched by the constructor, which nobody times.
class control_array : public bare_array {
  public:
    static constexpr std::string_view name = "reserved";
    control_array(std::uint64_t elements, bool huge) {
        const std::size_t bytes = elements * sizeof(int);
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        if (huge) ::madvise(memory, bytes, MADV_HUGEPAGE);
        first = static_cast<int*>(memory);
        room = elements;
        for (std::size_t i = 0; i < elements; i += 256) static_cast<volatile int*>(first)[i] = 0;
    }
    ~control_array() { ::munmap(first, room * sizeof(int)); }

    void push_back(int number) {
        if (used == room) [[unlikely]]
            std::abort();
        first[used++] = number;
    }
};

}  // namespace millpond::suites
