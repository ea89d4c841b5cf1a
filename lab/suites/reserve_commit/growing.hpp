// SPDX-License-Identifier: BSL-1.0
// growing: the common part of workloads over growing arrays: the array of a contender, its room, and a checksum.
//
//   point ── contender, element ──▶ with_array<Runner, Pages> ──▶ Runner<Array>::run(point)
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "lab/suites/common/dyn_array_2023.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::reserve_commit {

// Elements: how an element is made from a number and read again. The document's unique_ptrs show the cost of a move
// constructor that is almost trivial. Here, too, they own nothing: the array's memory is measured.
struct no_deleter {
    void operator()(const int*) const noexcept {}
};
using pointer_element = std::unique_ptr<const int, no_deleter>;

// An int that counts the moves and copies of all objects of this class.
class counted_element {
  public:
    explicit counted_element(int number) noexcept : number_(number) {}
    counted_element(const counted_element& other) noexcept : number_(other.number_) { ++moves; }
    counted_element(counted_element&& other) noexcept : number_(other.number_) { ++moves; }
    counted_element& operator=(const counted_element& other) noexcept {
        number_ = other.number_;
        ++moves;
        return *this;
    }
    counted_element& operator=(counted_element&& other) noexcept { return *this = other; }
    ~counted_element() = default;

    [[nodiscard]] int number() const noexcept { return number_; }
    static inline std::uint64_t moves = 0;

  private:
    int number_;
};

// The targets of unique_ptrs.
inline constexpr std::array<int, 64> numbers = [] {
    std::array<int, 64> all{};
    for (int i = 0; i < 64; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
}();

template <class T>
T made(std::uint64_t number);
template <>
inline int made<int>(std::uint64_t number) {
    return static_cast<int>(number * 7);
}
template <>
inline pointer_element made<pointer_element>(std::uint64_t number) {
    return pointer_element(&numbers[number % numbers.size()]);
}
template <>
inline counted_element made<counted_element>(std::uint64_t number) {
    return counted_element(static_cast<int>(number * 7));
}

inline std::uint64_t read(int element) { return static_cast<std::uint32_t>(element); }
inline std::uint64_t read(const pointer_element& element) { return static_cast<std::uint64_t>(*element); }
inline std::uint64_t read(const counted_element& element) { return read(element.number()); }

// Adds the constructor that all arrays have.
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

// Returns: the number of elements that fit into its memory; nothing if the array cannot tell.
template <class Array>
std::optional<std::uint64_t> room_of(const Array& array) {
    if constexpr (requires { array.capacity(); }) {
        return array.capacity();
    } else {
        return std::nullopt;
    }
}

// Throws: std::bad_alloc if the array reserved fewer addresses than the elements need.
template <class Array>
void require_addresses(const Array& array, std::uint64_t elements) {
    if constexpr (requires { array.max_size(); }) {
        if (array.max_size() < elements) throw std::bad_alloc();
    }
}

// Effects: the measured appends. Out of line, so that all callers run the same loop.
template <class Array>
[[gnu::noinline]] void append(Array& to, std::uint64_t elements, std::uint64_t seed) {
    using element = typename Array::value_type;
    for (std::uint64_t i = 0; i < elements; ++i) to.push_back(made<element>(i + seed));
}

// Reads only a few elements, including the first and last: reading is not measured.
template <class Array>
std::uint64_t checksum_of(Array& array) {
    const std::uint64_t size = array.size();
    std::uint64_t sum = size;
    for (std::uint64_t i = 0; i < size; i += size / 65536 + 1) sum = sum * 31 + read(array[i]);
    return size == 0 ? sum : sum * 31 + read(array[size - 1]);
}

// Effects: measures construct(array), which makes the array in place, and append(array), which fills it. The array
// stays.
template <class Array, class Construct, class Append>
void grow(const point& asked, std::optional<Array>& array, outcome& result, Construct construct, Append append) {
    const std::uint64_t length = length_of(asked);
    frame::window measured;
    measured.run(result, [&] {
        construct(array);
        require_addresses(*array, length);
        append(*array);
    });
    result.set_count("units", array->size());
    result.checksum = checksum_of(*array);
}

inline constexpr parameter array_parameters[] = {length_parameter, element_parameter, pages_parameter,
                                                 optimisation_parameter, frame::seed_parameter};

// A workload over every array and element.
template <template <class> class Runner, class Pages>
constexpr workload array_workload(std::string_view name, std::span<const metric> metrics) {
    return {.name = name,
            .unit = "element",
            .parameters = array_parameters,
            .metrics = metrics,
            .takes = is_array,
            .run = with_array<Runner, Pages>,
            .misfit = misfit_of_element,
            .least_bytes = [](const point& asked) { return length_of(asked) * element_bytes(asked); }};
}

}  // namespace millpond::reserve_commit
