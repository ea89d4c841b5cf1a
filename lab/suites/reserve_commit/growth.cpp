// SPDX-License-Identifier: BSL-1.0
// growth: appends elements to an array that does not know its final size.
//
//   construct, append, append, …  ─── the window: seconds, faults, peak; end: with the array still there
//   destroy                       ─── destroy_seconds
//
// peak_to_end: above 1 if growing itself took memory. capacity_bytes: the array's room at the end; used_share: the part
// of it that holds elements. moved_elements (for `counted`): moves in addition to the one that brings each element in.
// commits, populates: for arrays that do these.
#include "growing.hpp"

#include <optional>

#include "counted_pages.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<false>;

constexpr metric metrics[] = {
    "destroy_seconds", "capacity_bytes", "used_share",     {"peak_to_end", "ratio"}, {"moves_an_element", "ratio"},
    "commits",         "populates",      "committed_bytes"};

template <class Element>
std::vector<frame::figure> figures_of(const point& asked, const outcome& measured, std::optional<std::uint64_t> room) {
    const auto length = static_cast<double>(length_of(asked));
    std::optional<double> moves;
    if (std::is_same_v<Element, counted_element>) moves = static_cast<double>(counted_element::moves) - length;
    const auto per = [](std::optional<double> value, double by) {
        return value ? std::optional<double>(*value / by) : std::nullopt;
    };
    const auto if_commits = [&](std::uint64_t count) {
        return has_steps(asked.contender) ? std::optional<double>(static_cast<double>(count)) : std::nullopt;
    };
    const auto room_elements = room ? std::optional<double>(static_cast<double>(*room)) : std::nullopt;
    const double end = measured["end_bytes"].value_or(0);
    const double peak = measured["peak_bytes"].value_or(0);
    return {
        {"capacity_bytes", per(room_elements, 1.0 / sizeof(Element))},
        {"used_share", room_elements ? std::optional<double>(length / *room_elements) : std::nullopt},
        {"peak_to_end", end > 0 ? std::optional<double>(peak / end) : std::nullopt},
        {"moved_elements", moves},
        {"moves_an_element", per(moves, length)},
        {"commits", if_commits(pages::account.commits)},
        {"populates", if_commits(pages::account.populates)},
        {"committed_bytes", if_commits(pages::account.committed_bytes)},
    };
}

template <class Array>
struct growth_runner {
    static outcome run(const point& asked) {
        using element = typename Array::value_type;
        const bool huge = choose_pages(asked);
        const std::uint64_t length = length_of(asked);
        outcome result;
        std::optional<Array> array;
        grow(
            asked, array, result, [&](auto& place) { place.emplace(length, huge); },
            [&](Array& to) { append(to, length, asked.seed()); });
        const auto room = room_of(*array);
        result.set_all(figures_of<element>(asked, result, room));
        const suites::stopwatch clock;
        array.reset();
        result.set("destroy_seconds", clock.elapsed_ns() * 1e-9);
        return result;
    }
};

}  // namespace

void note_blocks(const point& asked, measure::heap_litter& blocks) {
    if (!is_array(asked.contender)) return;
    const std::uint64_t each = asked.of == &commit_step ? sizeof(int) : element_bytes(asked);
    for (std::uint64_t room = 1; room < 2 * length_of(asked) && room * each <= blocks.most_bytes; room *= 2) {
        blocks.note(room * each);
    }
}

const workload growth = array_workload<growth_runner, pages>("growth", metrics);

}  // namespace millpond::reserve_commit
