// SPDX-License-Identifier: BSL-1.0
// huge_page_array: an array of zeroed elements that grows by chunks of 2 MiB, on huge pages where there are any.
//
//   chunks ─▶ │ 2 MiB │ 2 MiB │ …        element i: chunk i / elements in a chunk
//
// Use it for tables of many megabytes that are reached at random: a page fault for each 4 KiB costs more than what is
// done there, and growing by copies touches everything twice. Trivial elements only, whose size is a power of two. Not
// thread-safe. Throws std::bad_alloc.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace millpond::trace {

template <class T>
class huge_page_array {
    static_assert(std::is_trivially_copyable_v<T> && std::has_single_bit(sizeof(T)));

  public:
    T& operator[](std::size_t i) { return chunks_[i / chunk_elements].get()[i % chunk_elements]; }
    const T& operator[](std::size_t i) const { return chunks_[i / chunk_elements].get()[i % chunk_elements]; }

    // Makes elements up to this one.
    void reach(std::size_t i) {
        while (i / chunk_elements >= chunks_.size()) {
            void* const p = std::aligned_alloc(chunk_bytes, chunk_bytes);
            if (p == nullptr) throw std::bad_alloc();
            chunks_.emplace_back(static_cast<T*>(p));
            (void)::madvise(p, chunk_bytes, MADV_HUGEPAGE);
            std::memset(p, 0, chunk_bytes);
        }
    }

  private:
    static constexpr std::size_t chunk_bytes = std::size_t{2} << 20, chunk_elements = chunk_bytes / sizeof(T);

    struct release {
        void operator()(T* p) const { std::free(p); }
    };
    std::vector<std::unique_ptr<T, release>> chunks_;
};

}  // namespace millpond::trace
