// SPDX-License-Identifier: BSL-1.0
// pages: memory straight from the kernel, for code below malloc, which cannot use malloc. Zeroed, private, counted only
// when touched. Null on failure; errno is left as it was.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstddef>

namespace millpond::preload {

template <class T = void>
[[nodiscard]] T* take_pages(std::size_t bytes) noexcept {
    const int before = errno;
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = before;
    return p == MAP_FAILED ? nullptr : static_cast<T*>(p);
}

inline void give_pages(void* p, std::size_t bytes) noexcept {
    const int before = errno;
    if (p != nullptr) munmap(p, bytes);
    errno = before;
}

}  // namespace millpond::preload
