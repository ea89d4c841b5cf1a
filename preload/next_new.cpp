// SPDX-License-Identifier: BSL-1.0
#include "preload/next_new.hpp"

#include "preload/next_symbol.hpp"

namespace millpond::preload {
namespace {

// The mangled names encode std::size_t: `m`, unsigned long, or `j`, unsigned int, in a 32-bit program.
template <class Function>
Function behind_us(const char* of_long, const char* of_int) noexcept {
    return reinterpret_cast<Function>(next_symbol::find(sizeof(std::size_t) == 8 ? of_long : of_int));
}

}  // namespace

void* next_new(std::size_t bytes) {
    auto* const next = behind_us<void* (*)(std::size_t)>("_Znwm", "_Znwj");
    return next != nullptr ? next(bytes) : nullptr;
}

void* next_new(std::size_t bytes, std::align_val_t alignment) {
    auto* const next =
        behind_us<void* (*)(std::size_t, std::align_val_t)>("_ZnwmSt11align_val_t", "_ZnwjSt11align_val_t");
    return next != nullptr ? next(bytes, alignment) : nullptr;
}

void* next_new_nothrow(std::size_t bytes) noexcept {
    static const std::nothrow_t tag{};
    auto* const next =
        behind_us<void* (*)(std::size_t, const std::nothrow_t&)>("_ZnwmRKSt9nothrow_t", "_ZnwjRKSt9nothrow_t");
    return next != nullptr ? next(bytes, tag) : nullptr;
}

void* next_new_nothrow(std::size_t bytes, std::align_val_t alignment) noexcept {
    static const std::nothrow_t tag{};
    auto* const next = behind_us<void* (*)(std::size_t, std::align_val_t, const std::nothrow_t&)>(
        "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnwjSt11align_val_tRKSt9nothrow_t");
    return next != nullptr ? next(bytes, alignment, tag) : nullptr;
}

}  // namespace millpond::preload
