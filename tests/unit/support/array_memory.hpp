// SPDX-License-Identifier: BSL-1.0
// array_memory: a fixture and helpers for the tests of dyn_array on fake pages.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <millpond/container/dyn_array.hpp>

#include "fake_pages.hpp"

namespace millpond::test {

template <class T>
using array = dyn_array<T, fake_pages>;

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// Checks in the end that every reservation was released.
class array_memory : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }
    void TearDown() override {
        EXPECT_EQ(fake_pages::reservations(), 0U) << "a reservation was not released";
        EXPECT_EQ(fake_pages::charged_bytes, 0U);
    }
};

// Pushes 0, 1, 2 … until the array has that many elements.
template <class T>
void fill_up(array<T>& to, std::size_t elements) {
    while (to.size() < elements) to.push_back(T(static_cast<int>(to.size())));
}

}  // namespace millpond::test
