// SPDX-License-Identifier: BSL-1.0
// array: zeroed memory from the host, for code without a C library.
//
//   millpond_system ──allocate──▶ │ padding │ aligned to 64 bytes: T T T T … │
//
// Elements are words or structures of words; they start as zero. Not thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "lab/references/simulators.h"

namespace millpond::simulate {

using host = millpond_system;

// Copies and fills memory in a form that the compiler may turn into memcpy, memset or vector instructions.
template <class T>
void fill(T* to, size_t count, T value) {
    for (size_t i = 0; i < count; ++i) to[i] = value;
}

template <class T>
class array {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    explicit array(const host& system, size_t count = 0) : system_(&system) {
        if (count != 0) make(count);
    }
    array(const array&) = delete;
    array& operator=(const array&) = delete;
    ~array() { release(); }

    size_t size() const { return count_; }
    size_t bytes() const { return raw_bytes_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }

    // Grows to `count` elements; new ones are zero. O(count).
    void grow(size_t count) {
        if (count <= count_) return;
        array larger(*system_, count);
        for (size_t i = 0; i < count_; ++i) larger.data_[i] = data_[i];
        swap(larger);
    }

    // Makes room for element `i`, by doubling.
    void reach(size_t i) {
        if (i >= count_) grow(i < 32 ? 64 : 2 * i);
    }

    void swap(array& other) noexcept {
        exchange(raw_, other.raw_);
        exchange(data_, other.data_);
        exchange(count_, other.count_);
        exchange(raw_bytes_, other.raw_bytes_);
    }

  private:
    static constexpr size_t alignment = 64;

    template <class U>
    static void exchange(U& a, U& b) {
        U kept = a;
        a = b;
        b = kept;
    }

    void make(size_t count) {
        if (count > (SIZE_MAX - alignment) / sizeof(T)) system_->fail("a table of the simulators is too large");
        raw_bytes_ = count * sizeof(T) + alignment;
        raw_ = system_->allocate(raw_bytes_);
        data_ = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(raw_) + alignment - 1) & ~uintptr_t{alignment - 1});
        count_ = count;
        fill(data_, count, T{});
    }

    void release() {
        if (raw_ != nullptr) system_->release(raw_, raw_bytes_);
    }

    const host* system_;
    void* raw_ = nullptr;
    T* data_ = nullptr;
    size_t count_ = 0;
    size_t raw_bytes_ = 0;
};

}  // namespace millpond::simulate
