// SPDX-License-Identifier: BSL-1.0
// noted_allocator: std::allocator, which notes what it is asked for, for the littering of a heap.
//
//   noting = &blocks;  std::set<char, std::less<>, noted_allocator<char>> …   every node is noted in `blocks`
#pragma once

#include <cstddef>
#include <memory>

#include "lab/measure/littering.hpp"

namespace millpond::experiment {

inline measure::littering* noting = nullptr;

template <class T>
struct noted_allocator : std::allocator<T> {
    noted_allocator() = default;
    template <class U>
    noted_allocator(const noted_allocator<U>&) noexcept {}
    template <class U>
    struct rebind {
        using other = noted_allocator<U>;
    };

    [[nodiscard]] T* allocate(std::size_t count) {
        noting->note(count * sizeof(T));
        return std::allocator<T>::allocate(count);
    }
};

}  // namespace millpond::experiment
