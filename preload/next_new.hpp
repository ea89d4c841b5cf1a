// SPDX-License-Identifier: BSL-1.0
// next_new: the operator new behind ours, called when ours fails. It calls the new-handler and throws std::bad_alloc as
// the program's own C++ library does. Returns null only if no C++ library is loaded. Looked up at each failure.
#pragma once

#include <cstddef>
#include <new>

namespace millpond::preload {

[[gnu::cold]] void* next_new(std::size_t bytes);
[[gnu::cold]] void* next_new(std::size_t bytes, std::align_val_t alignment);
[[gnu::cold]] void* next_new_nothrow(std::size_t bytes) noexcept;
[[gnu::cold]] void* next_new_nothrow(std::size_t bytes, std::align_val_t alignment) noexcept;

}  // namespace millpond::preload
