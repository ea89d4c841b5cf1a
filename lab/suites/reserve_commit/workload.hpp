// SPDX-License-Identifier: BSL-1.0
// workload: the measurements of "Reserve and commit", each defined next to the code that it runs, and their parameters.
//
// Lengths are in elements, powers of ten as in the document. seed: the value of the first element, so that none is
// known beforehand; nothing else is random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lab/measure/heap_litter.hpp"
#include "lab/suites/common/arrays.hpp"
#include "lab/suites/frame/workload.hpp"

namespace millpond::reserve_commit {

using frame::metric, frame::outcome, frame::parameter, frame::point, frame::workload;

// The contenders: growing arrays, and ways to give memory back. In the order of the table in main.cpp.
enum class contender : unsigned char {
    vector,          // the baseline
    dyn_array_2023,  // the document's own array
    dyn_array,
    deque,
    chunked,
    realloc,
    mremap,
    // The following are only for give_back.
    keep,  // nothing goes back
    madv_free,
    madv_dontneed,
    decommit,  // os::pages::decommit and commit, as dyn_array gives back
};

[[nodiscard]] constexpr contender contender_at(std::size_t place) { return static_cast<contender>(place); }
inline bool is_array(std::size_t place) { return contender_at(place) < contender::keep; }
inline bool is_way_back(std::size_t place) { return !is_array(place); }
// Returns true for contenders whose memory comes in steps of a size that can be set.
inline bool has_steps(std::size_t place) {
    return contender_at(place) == contender::dyn_array || contender_at(place) == contender::dyn_array_2023;
}

inline constexpr std::string_view element_words[] = {"int", "unique_ptr", "counted"};
enum class element_kind : unsigned char { integer, unique_ptr, counted };
inline constexpr std::string_view page_words[] = {"small", "huge"};

inline constexpr parameter length_parameter{"length", 1'000'000, 1, std::int64_t{1} << 36, "elements in the end"};
inline constexpr parameter element_parameter{
    "element",    0, 0, 2, "int; a std::unique_ptr that owns nothing; an int that counts how often it is moved",
    element_words};
inline constexpr parameter pages_parameter{
    "pages",   0, 0, 1, "small: of 4 KiB, whatever the system is set to; huge: asked for where an array has a say",
    page_words};
inline constexpr parameter optimisation_parameter{"optimisation", 2, 0, 2, "the compiler's level, as in -O2"};

[[nodiscard]] inline std::uint64_t length_of(const point& asked) { return asked.count("length"); }
[[nodiscard]] inline element_kind element_of(const point& asked) {
    return element_kind{static_cast<unsigned char>(asked["element"])};
}
[[nodiscard]] inline std::uint64_t element_bytes(const point& asked) {
    return element_of(asked) == element_kind::unique_ptr ? sizeof(void*) : sizeof(int);
}
[[nodiscard]] inline contender contender_of(const point& asked) { return contender_at(asked.contender); }
// Effects: forbids huge pages unless the point asks for them. Returns: whether it asks for them.
inline bool choose_pages(const point& asked) {
    const bool huge = asked["pages"] != 0;
    if (!huge) suites::forbid_huge_pages();
    return huge;
}

// The frame accepts +1 as a number, but it is no name of a program (main.cpp).
inline std::string misfit_of_level(const point& asked) {
    return asked["optimisation"] == MILLPOND_LEVEL ? "" : "--optimisation is 0, 1 or 2";
}

// realloc and mremap move only bytes.
inline std::string misfit_of_element(const point& asked) {
    const contender by = contender_of(asked);
    if ((by == contender::realloc || by == contender::mremap) && element_of(asked) != element_kind::integer)
        return "element must be int: realloc and mremap move bytes and call no constructor";
    return misfit_of_level(asked);
}

// Effects: notes the blocks that a std::vector of this length asks the heap for.
void note_blocks(const point& asked, measure::heap_litter& blocks);

extern const workload growth, latency, commit_step, give_back;

}  // namespace millpond::reserve_commit
