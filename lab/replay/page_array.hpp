// SPDX-License-Identifier: BSL-1.0
// page_array: zeroed memory directly from the system, with all pages present from the start.
//
// The player keeps all of its own data in such arrays. So the malloc under test sees only the program's calls, and no
// page of ours is faulted in while the clock runs. O(bytes) to make. Throws failure (status 4). Trivial elements.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "lab/program/program.hpp"

namespace millpond::replay {

template <class T>
class page_array {
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    page_array() = default;
    explicit page_array(std::size_t count) : count_(count), bytes_(count * sizeof(T)) {
        if (count == 0) return;
        void* const memory =
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED)
            throw program::failure(program::environment,
                                   "no memory for " + std::to_string(bytes_) + " bytes of the player's data");
        data_ = static_cast<T*>(memory);
    }
    page_array(page_array&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)), bytes_(other.bytes_) {}
    page_array& operator=(page_array&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~page_array() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }

    // The memory stays until the process ends.
    T* release() { return std::exchange(data_, nullptr); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return count_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    T* data_ = nullptr;
    std::size_t count_ = 0, bytes_ = 0;
};

}  // namespace millpond::replay
