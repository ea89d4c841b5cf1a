// SPDX-License-Identifier: BSL-1.0
// places: what every place of millpond::advise must do.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tracked.hpp"

namespace millpond::test {

// False under sanitizers, which end a program that asks malloc for more than there is.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool malloc_refuses = false;
#else
inline constexpr bool malloc_refuses = true;
#endif

// True where a block of half of all addresses may be had: of 32 bits.
inline constexpr bool half_of_the_addresses_may_be_had = sizeof(void*) == 4;

// An object that stands on a cache line of its own.
struct alignas(64) aligned_line {
    int number = 0;
};

template <class T>
[[nodiscard]] bool is_aligned(const T* object, std::size_t alignment = alignof(T)) {
    return reinterpret_cast<std::uintptr_t>(object) % alignment == 0;
}

// make, make_unique and make_shared of a place: aligned, and without a leak if a constructor throws.
template <class Place>
void expect_objects_are_made_and_destroyed() {
    auto* const line = Place::template make<aligned_line>(7);
    EXPECT_TRUE(is_aligned(line) && line->number == 7);
    Place::destroy(line);
    Place::destroy(static_cast<int*>(nullptr));
    EXPECT_EQ(Place::template make_unique<copied>(7)->value(), 7);
    EXPECT_EQ(Place::template make_shared<copied>(7)->value(), 7);
    element_books::fail_once_at(0);
    EXPECT_THROW(static_cast<void>(Place::template make<copied>(7)), element_failure);
    element_books::fail_once_at(0);
    EXPECT_THROW(static_cast<void>(Place::template make_unique<copied>(7)), element_failure);
    element_books::fail_once_at(0);
    EXPECT_THROW(static_cast<void>(Place::template make_shared<copied>(7)), element_failure);
    element_books::never_fail();
    EXPECT_TRUE(element_books::alive.empty());
}

}  // namespace millpond::test
