// SPDX-License-Identifier: BSL-1.0
// growing: what the workloads over growing arrays have in common: the array of a contender, its room, and a checksum.
//
//   point ── contender, element ──▶ with_array<Runner, Pages> ──▶ Runner<Array>::run(point)
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "elements.hpp"
#include "lab/suites/common/dyn_array_2023.hpp"
#include "workload.hpp"

namespace millpond::reserve_commit {

// With the constructor that all arrays have.
template <class T, class Pages>
struct published_array : suites::dyn_array_2023<T, Pages> {
    published_array(std::uint64_t elements, bool)
        : suites::dyn_array_2023<T, Pages>(elements * suites::more_than_needed) {}
};

template <template <class> class Runner, class Pages, class T>
outcome with_array_of(const point& asked) {
    switch (contender_of(asked)) {
        case contender::vector:
            return Runner<suites::vector_array<T>>::run(asked);
        case contender::dyn_array_2023:
            return Runner<published_array<T, Pages>>::run(asked);
        case contender::dyn_array:
            return Runner<suites::millpond_array<T, Pages>>::run(asked);
        case contender::deque:
            return Runner<suites::deque_array<T>>::run(asked);
        case contender::chunked:
            return Runner<suites::chunked_array<T>>::run(asked);
        default:
            break;
    }
    if constexpr (std::is_same_v<T, int>) {
        if (contender_of(asked) == contender::realloc) return Runner<suites::realloc_array<T>>::run(asked);
        if (contender_of(asked) == contender::mremap) return Runner<suites::mremap_array<T>>::run(asked);
    }
    throw std::logic_error("no array of this contender");
}

template <template <class> class Runner, class Pages>
outcome with_array(const point& asked) {
    switch (element_of(asked)) {
        case element_kind::integer:
            return with_array_of<Runner, Pages, int>(asked);
        case element_kind::unique_ptr:
            return with_array_of<Runner, Pages, pointer_element>(asked);
        case element_kind::counted:
            return with_array_of<Runner, Pages, counted_element>(asked);
    }
    throw std::logic_error("no such element");
}

// Returns: the elements that there is memory for; nothing where the array cannot tell.
template <class Array>
std::optional<std::uint64_t> room_of(const Array& array) {
    if constexpr (requires { array.capacity(); }) {
        return array.capacity();
    } else {
        return std::nullopt;
    }
}

// Throws: std::bad_alloc where the array got fewer addresses than the elements need.
template <class Array>
void require_addresses(const Array& array, std::uint64_t elements) {
    if constexpr (requires { array.max_size(); }) {
        if (array.max_size() < elements) throw std::bad_alloc();
    }
}

// Effects: the measured appends. Out of line, so that the loop is the same wherever it is called.
template <class Array>
[[gnu::noinline]] void append(Array& to, std::uint64_t elements, std::uint64_t seed) {
    using element = typename Array::value_type;
    for (std::uint64_t i = 0; i < elements; ++i) to.push_back(made<element>(i + seed));
}

// Few elements are looked at, those in front and at the end among them: reading is not what is measured.
template <class Array>
std::uint64_t checksum_of(Array& array) {
    const std::uint64_t size = array.size();
    std::uint64_t sum = size;
    for (std::uint64_t i = 0; i < size; i += size / 65536 + 1) sum = sum * 31 + read(array[i]);
    return size == 0 ? sum : sum * 31 + read(array[size - 1]);
}

// At least what the elements take.
inline std::uint64_t least_bytes_of_elements(const point& asked) { return length_of(asked) * element_bytes(asked); }

}  // namespace millpond::reserve_commit
