// SPDX-License-Identifier: BSL-1.0
// small_array_int, small_array_unique: fill arrays of a hundred to a hundred thousand elements again and again.
//
//   NAME           construct ┊ fill, sum ┊ destroy    a fresh one each time
//   NAME:cleared               fill, sum, clear       one that is kept, its memory with it
//
// warm_ns: nanoseconds an element. For a fresh dyn_array it includes only filling and ending the elements; before_ns is
// the construction of the reservation and after_ns its end, in nanoseconds an array. std::vector constructs nothing.
// Times are by the wall clock, because the parts of a fresh array are shorter than a system call. The cost of reading
// the clock is subtracted. Of the lives in a group only the middle half counts, which other programs disturb little.
// Elements are numbers, or empty owners (std::unique_ptr), whose moves and ends are code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <vector>

#include "contenders.hpp"
#include "lab/measure/clocks.hpp"
#include "lab/suites/common/hidden.hpp"
#include "lab/suites/frame/passes.hpp"
#include "millpond/container/dyn_array.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr unsigned groups = 5;

template <class T>
T element_of(std::uint64_t i) {
    if constexpr (std::is_same_v<T, int>) {
        return static_cast<int>(i * 7);
    } else {
        return T(nullptr);
    }
}
[[maybe_unused]] std::uint64_t number_of(int element) { return static_cast<std::uint32_t>(element); }
[[maybe_unused]] std::uint64_t number_of(const std::unique_ptr<int>& element) { return element == nullptr ? 1 : 0; }

template <class Array>
[[gnu::noinline]] void fill(Array& to, std::uint64_t elements) {
    using element = typename Array::value_type;
    for (std::uint64_t i = 0; i < elements; ++i) to.push_back(element_of<element>(i));
}

template <class Array>
[[gnu::noinline]] std::uint64_t sum(const Array& of) {
    std::uint64_t total = 0;
    for (const auto& element : of) total += number_of(element);
    return total;
}

double wall_ns() noexcept { return measure::wall_seconds() * 1e9; }

[[maybe_unused]] double ns_to_read_the_clock() noexcept {
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < 1000; ++i) {
        const double before = wall_ns();
        least = std::min(least, wall_ns() - before);
    }
    return least;
}

// Returns: the mean of the middle half. A median would be as coarse as the clock.
[[maybe_unused]] double middle(std::vector<double>& values) noexcept {
    std::sort(values.begin(), values.end());
    const std::size_t aside = values.size() / 4;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(aside);
    const auto last = values.end() - static_cast<std::ptrdiff_t>(aside);
    return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

// Nanoseconds of the three parts of an array's life.
struct parts {
    double construct = 0, fill = 0, destroy = 0;
};

template <class T>
struct fresh_vector {
    static constexpr std::string_view name = "vector";
    // A vector constructs and destroys inside the fill: no part is separate.
    static std::uint64_t live(std::uint64_t elements, parts& spent) {
        const double before = wall_ns();
        std::uint64_t total = 0;
        {
            std::vector<T> array;
            escape(&array);
            fill(array, elements);
            total = sum(array);
        }
        spent.fill += wall_ns() - before;
        return total;
    }
};

template <class T>
struct fresh_dyn_array {
    static constexpr std::string_view name = "dyn_array";
    static std::uint64_t live(std::uint64_t elements, parts& spent) {
        const double before = wall_ns();
        double constructed = 0;
        double filled = 0;
        std::uint64_t total = 0;
        {
            dyn_array<T> array(std::size_t{1} << 24);
            escape(&array);
            constructed = wall_ns();
            fill(array, elements);
            total = sum(array);
            array.clear();
            filled = wall_ns();
        }
        spent.construct += constructed - before;
        spent.fill += filled - constructed;
        spent.destroy += wall_ns() - filled;
        return total;
    }
};

// An array that is kept together with its memory.
template <class Array>
std::uint64_t live_again(Array& array, std::uint64_t elements, parts& spent) {
    const double before = wall_ns();
    fill(array, elements);
    const std::uint64_t total = sum(array);
    array.clear();
    spent.fill += wall_ns() - before;
    return total;
}

template <class T>
struct cleared_vector {
    static constexpr std::string_view name = "vector:cleared";
    static std::uint64_t live(std::uint64_t elements, parts& spent) {
        static std::vector<T> array;
        return live_again(array, elements, spent);
    }
};
template <class T>
struct cleared_dyn_array {
    static constexpr std::string_view name = "dyn_array:cleared";
    static std::uint64_t live(std::uint64_t elements, parts& spent) {
        static dyn_array<T> array(std::size_t{1} << 24);
        return live_again(array, elements, spent);
    }
};

template <class Life>
struct small_array_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        outcome result;
        const resident_meter resident;
        const double clock_ns = ns_to_read_the_clock();
        parts cold;
        result.checksum = Life::live(size, cold);
        result.set("cold_ns", cold.fill / static_cast<double>(size));
        const std::uint64_t units = asked.count("units");
        const std::uint64_t lives = std::max<std::uint64_t>(1, units / (size * groups));
        std::array<std::vector<double>, 3> of_lives;
        of_lives.fill(std::vector<double>(lives));
        std::array<double, groups> construct{}, fill{}, destroy{};
        for (unsigned group = 0; group < groups; ++group) {
            for (std::uint64_t i = 0; i < lives; ++i) {
                parts spent;
                Life::live(size, spent);
                of_lives[0][i] = spent.construct;
                of_lives[1][i] = spent.fill;
                of_lives[2][i] = spent.destroy;
            }
            construct[group] = middle(of_lives[0]);
            fill[group] = std::max(0.0, middle(of_lives[1]) - clock_ns);
            destroy[group] = middle(of_lives[2]);
        }
        result.set_count("units", lives * groups * size);
        result.set("warm_ns", frame::median(fill) / static_cast<double>(size));
        result.set("before_ns", frame::median(construct));
        result.set("after_ns", frame::median(destroy));
        set_resident(result, resident);
        return result;
    }
};

template <class T>
std::vector<entry> all() {
    return entries<small_array_runner>(
        contender_list<fresh_dyn_array<T>, cleared_dyn_array<T>, fresh_vector<T>, cleared_vector<T>>{});
}

constexpr parameter parameters[] = {size_parameter(100, "elements"), units_parameter(1 << 22), seed_parameter};
constexpr metric metrics[] = {"warm_ns", "cold_ns", "before_ns", "after_ns"};

}  // namespace

const workload small_array_int = workload_of<all<int>>("small_array_int", "element", parameters, metrics);
const workload small_array_unique =
    workload_of<all<std::unique_ptr<int>>>("small_array_unique", "element", parameters, metrics);

}  // namespace millpond::library
