// SPDX-License-Identifier: BSL-1.0
// dyn_array_2023: the dynamic array of "Reserve and commit" as its author describes it, for comparison.
//
//   base ├─ elements ─┤··│▒▒▒▒▒▒ reserved: PROT_NONE, MAP_NORESERVE ▒▒▒▒▒▒┤     no guard page
//                        ▲ the end of a page: the next one is made accessible when it is needed, and faults
//
// Compare it with dyn_array, which commits and populates memory ahead. Every append computes the committed size before
// and after; if they differ, one mprotect commits the difference. The post commits one page at a time; `step` sets
// other sizes, a power of two. Written from the post's description, with two differences: elements are constructed, not
// assigned to, and a failed reservation is detected (mmap does not return null). push_back: O(1), one system call a
// step. Throws std::bad_alloc and then changes nothing. Not thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "millpond/os/pages.hpp"

namespace millpond::suites {

template <class T, class Pages = os::pages>
class dyn_array_2023 {
  public:
    using value_type = T;
    static constexpr std::string_view name = "dyn_array_2023";

    explicit dyn_array_2023(std::size_t most, std::size_t step = Pages::size())
        : step_(step), room_bytes_(up_to_step(most * sizeof(T))) {
        void* const memory =
            ::mmap(nullptr, room_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        base_ = static_cast<std::byte*>(memory);
    }
    dyn_array_2023(const dyn_array_2023&) = delete;
    dyn_array_2023& operator=(const dyn_array_2023&) = delete;
    ~dyn_array_2023() {
        std::destroy_n(data(), size());
        ::munmap(base_, room_bytes_);
    }

    void push_back(T value) {
        T* const at = reinterpret_cast<T*>(base_ + used_bytes_);
        grow(sizeof(T));
        std::construct_at(at, std::move(value));
    }
    [[nodiscard]] std::size_t size() const noexcept { return used_bytes_ / sizeof(T); }
    [[nodiscard]] std::size_t capacity() const noexcept { return up_to_step(used_bytes_) / sizeof(T); }
    T& operator[](std::size_t at) noexcept { return data()[at]; }

  private:
    [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(base_); }
    [[nodiscard]] std::size_t up_to_step(std::size_t bytes) const noexcept {
        return (bytes + step_ - 1) & ~(step_ - 1);
    }

    void grow(std::size_t bytes) {
        const std::size_t before = up_to_step(used_bytes_);
        const std::size_t after = up_to_step(used_bytes_ + bytes);
        if (after > room_bytes_) throw std::bad_alloc();
        if (after != before && !Pages::commit(base_ + before, after - before)) throw std::bad_alloc();
        used_bytes_ += bytes;
    }

    std::size_t step_;
    std::size_t room_bytes_;
    std::size_t used_bytes_ = 0;
    std::byte* base_ = nullptr;
};

}  // namespace millpond::suites
