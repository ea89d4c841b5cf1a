// SPDX-License-Identifier: BSL-1.0
// elements: what is appended, and how it is made of a number and read again.
//
// The document's unique_ptrs show what a move constructor that is almost trivial costs. Here too they own nothing: it
// is the array's memory that is measured, not theirs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace millpond::reserve_commit {

struct owns_nothing {
    void operator()(const int*) const noexcept {}
};
using pointer_element = std::unique_ptr<const int, owns_nothing>;

// An int that counts how often any such was moved or copied.
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

// Where unique_ptrs point.
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

}  // namespace millpond::reserve_commit
