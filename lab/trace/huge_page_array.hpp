// SPDX-License-Identifier: BSL-1.0
// huge_page_array: an array of zeroed elements that grows by chunks, on huge pages if the system has them.
//
//   chunks ─▶ │ 2^19 elements │ 2^19 elements │ …
//
// Use it for tables of many megabytes with random access: a page fault for each 4 KiB would cost more than the work
// itself, and growing by copies touches everything twice. Memory is allocated when it is touched. Trivial elements
// only. Not thread-safe. Throws std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace millpond::trace {

template <class T>
class huge_page_array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    huge_page_array() = default;
    ~huge_page_array() {
        for (T* const chunk : chunks_) ::munmap(chunk, chunk_bytes);
    }
    huge_page_array(const huge_page_array&) = delete;
    huge_page_array& operator=(const huge_page_array&) = delete;

    T& operator[](std::size_t i) { return chunks_[i / chunk_elements][i % chunk_elements]; }
    const T& operator[](std::size_t i) const { return chunks_[i / chunk_elements][i % chunk_elements]; }

    // Makes all elements up to this one.
    void reach(std::size_t i) {
        while (i / chunk_elements >= chunks_.size()) add_chunk();
    }

  private:
    static constexpr std::size_t chunk_elements = std::size_t{1} << 19, chunk_bytes = chunk_elements * sizeof(T);

    void add_chunk() {
        chunks_.reserve(chunks_.size() + 1);
        void* const p = ::mmap(nullptr, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) throw std::bad_alloc();
        chunks_.push_back(static_cast<T*>(p));
        (void)::madvise(p, chunk_bytes, MADV_HUGEPAGE);
    }

    std::vector<T*> chunks_;
};

}  // namespace millpond::trace
