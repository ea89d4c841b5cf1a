// SPDX-License-Identifier: BSL-1.0
// arrays: arrays that grow by push_back without knowing their final size, each in its own way.
//
//   vector_array    std::vector                            twice the memory, everything moved, now and then
//   deque_array     std::deque                             blocks of 512 bytes
//   chunked_array   chunks, each twice the one before      nothing moved, no contiguity: a bump allocator's chunks
//   realloc_array   realloc to twice the bytes             copied, or moved by the page tables where the malloc can
//   mremap_array    mremap to twice the bytes              moved by the page tables
//   millpond_array  dyn_array                              never moved
//   control_array   memory touched before the clock starts the cost of appending itself: a lower bound
//
// C::array(elements, huge) makes an empty one, which may ignore `elements`; `huge` asks for huge pages where the array
// can. Throws std::bad_alloc if memory runs out. realloc_array, mremap_array and control_array take only trivially
// copyable elements. The dyn_array of the source document is in dyn_array_2023.hpp.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millpond/container/dyn_array.hpp"

namespace millpond::suites {

// Turns transparent huge pages off for this process, for all arrays.
inline void forbid_huge_pages() noexcept { ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

// An array that cannot know its final size reserves this multiple of it.
inline constexpr std::uint64_t more_than_needed = 16;

template <class T>
struct vector_array : std::vector<T> {
    static constexpr std::string_view name = "vector";
    vector_array(std::uint64_t, bool) {}
};

template <class T>
struct deque_array : std::deque<T> {
    static constexpr std::string_view name = "deque";
    deque_array(std::uint64_t, bool) {}
};

template <class T, class Pages = os::pages>
struct millpond_array : dyn_array<T, Pages> {
    static constexpr std::string_view name = "dyn_array";
    millpond_array(std::uint64_t elements, bool huge) : millpond_array(elements, commit_steps{.huge_pages = huge}) {}
    millpond_array(std::uint64_t elements, commit_steps steps)
        : dyn_array<T, Pages>(elements * more_than_needed, steps) {}
};

template <class T>
class chunked_array {
  public:
    using value_type = T;
    static constexpr std::string_view name = "chunked";

    chunked_array(std::uint64_t, bool) {}
    chunked_array(const chunked_array&) = delete;
    chunked_array& operator=(const chunked_array&) = delete;
    ~chunked_array() {
        for (std::size_t at = 0; at < chunks_used_; ++at) {
            std::destroy(chunks_[at], at + 1 == chunks_used_ ? next_ : chunks_[at] + room_of(at));
            ::operator delete(chunks_[at]);
        }
    }

    void push_back(T value) {
        if (next_ == end_) [[unlikely]]
            grow();
        std::construct_at(next_, std::move(value));
        ++next_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return capacity() - static_cast<std::size_t>(end_ - next_); }
    [[nodiscard]] std::size_t capacity() const noexcept { return before(chunks_used_); }
    T& operator[](std::size_t at) noexcept {
        const auto chunk = static_cast<std::size_t>(std::bit_width(at / first_room + 1)) - 1;
        return chunks_[chunk][at - before(chunk)];
    }

  private:
    static constexpr std::size_t first_room = 512 / sizeof(T);
    static constexpr std::size_t most_chunks = 48;

    static constexpr std::size_t room_of(std::size_t chunk) noexcept { return first_room << chunk; }
    static constexpr std::size_t before(std::size_t chunk) noexcept { return room_of(chunk) - first_room; }

    [[gnu::noinline, gnu::cold]] void grow() {
        if (chunks_used_ == most_chunks) throw std::bad_alloc();
        next_ = static_cast<T*>(::operator new(room_of(chunks_used_) * sizeof(T)));
        end_ = next_ + room_of(chunks_used_);
        chunks_[chunks_used_++] = next_;
    }

    std::array<T*, most_chunks> chunks_{};
    std::size_t chunks_used_ = 0;
    T* next_ = nullptr;
    T* end_ = nullptr;
};

// The common part of arrays whose bytes are moved: the place of the next element. Array::grow makes room, or throws.
template <class Array, class T>
class bare_array {
    static_assert(std::is_trivially_copyable_v<T>, "what moves it moves bytes");

  public:
    using value_type = T;

    bare_array() = default;
    bare_array(const bare_array&) = delete;
    bare_array& operator=(const bare_array&) = delete;

    void push_back(T value) {
        if (used == room) [[unlikely]]
            static_cast<Array*>(this)->grow();
        first[used++] = value;
    }
    [[nodiscard]] std::size_t size() const noexcept { return used; }
    [[nodiscard]] std::size_t capacity() const noexcept { return room; }
    T& operator[](std::size_t at) noexcept { return first[at]; }

  protected:
    ~bare_array() = default;
    // NOLINTBEGIN(readability-identifier-naming): the derived arrays use these names often
    T* first = nullptr;
    std::size_t used = 0;
    std::size_t room = 0;
    // NOLINTEND(readability-identifier-naming)
};

template <class T>
class realloc_array : public bare_array<realloc_array<T>, T> {
  public:
    static constexpr std::string_view name = "realloc";
    realloc_array(std::uint64_t, bool) {}
    ~realloc_array() { std::free(first); }

  private:
    using base = bare_array<realloc_array<T>, T>;
    friend base;
    using base::first, base::room;

    [[gnu::noinline, gnu::cold]] void grow() {
        const std::size_t wanted = room == 0 ? 1 : 2 * room;
        void* const grown = std::realloc(first, wanted * sizeof(T));
        if (grown == nullptr) throw std::bad_alloc();
        first = static_cast<T*>(grown);
        room = wanted;
    }
};

template <class T>
class mremap_array : public bare_array<mremap_array<T>, T> {
  public:
    static constexpr std::string_view name = "mremap";
    mremap_array(std::uint64_t, bool huge) : huge_(huge) {}
    ~mremap_array() {
        if (first != nullptr) ::munmap(first, room * sizeof(T));
    }

  private:
    using base = bare_array<mremap_array<T>, T>;
    friend base;
    using base::first, base::room;
    static constexpr std::size_t first_bytes = 4096;

    [[gnu::noinline, gnu::cold]] void grow() {
        const std::size_t bytes = room * sizeof(T);
        const std::size_t wanted = bytes == 0 ? first_bytes : 2 * bytes;
        void* const grown = bytes == 0
                                ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                : ::mremap(first, bytes, wanted, MREMAP_MAYMOVE);
        if (grown == MAP_FAILED) throw std::bad_alloc();
        if (huge_) ::madvise(grown, wanted, MADV_HUGEPAGE);
        first = static_cast<T*>(grown);
        room = wanted / sizeof(T);
    }

    bool huge_;
};

// The constructor allocates and touches the memory; it is not timed.
template <class T>
class control_array : public bare_array<control_array<T>, T> {
  public:
    static constexpr std::string_view name = "reserved";
    control_array(std::uint64_t elements, bool huge) {
        const std::size_t bytes = elements * sizeof(T);
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        if (huge) ::madvise(memory, bytes, MADV_HUGEPAGE);
        first = static_cast<T*>(memory);
        room = elements;
        for (std::size_t i = 0; i < elements; i += 1024 / sizeof(T)) static_cast<volatile T*>(first)[i] = T{};
    }
    ~control_array() { ::munmap(first, room * sizeof(T)); }

  private:
    using base = bare_array<control_array<T>, T>;
    friend base;
    using base::first, base::room;

    // Never called, unless the caller has miscounted.
    [[noreturn, gnu::cold]] static void grow() { std::abort(); }
};

}  // namespace millpond::suites
