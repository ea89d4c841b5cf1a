// SPDX-License-Identifier: BSL-1.0
// growth: so many elements appended to an array that does not know how many will come.
//
//   construct, append, append, …  ─── the window: seconds, faults, peak; end: with the array still there
//   destroy                       ─── destroy_seconds
//
// Peak above end is what growing took for itself. capacity_bytes: what the array has room for in the end.
// moved_elements (of `counted`): moves beyond the one that brings each element in. commits, populates: of arrays that
// have such.
#include "growing.hpp"

#include <optional>

#include "counted_pages.hpp"
#include "lab/suites/experiment/window.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<false>;

constexpr parameter parameters[] = {length_parameter, element_parameter, pages_parameter, optimisation_parameter,
                                    experiment::seed_parameter};

template <class Array>
[[gnu::noinline]] void append(Array& to, std::uint64_t elements, std::uint64_t seed) {
    using element = typename Array::value_type;
    for (std::uint64_t i = 0; i < elements; ++i) to.push_back(made<element>(i + seed));
}

template <class Array>
struct growth_runner {
    static outcome run(const point& asked) {
        using element = typename Array::value_type;
        const bool huge = choose_pages(asked);
        const std::uint64_t length = length_of(asked);
        outcome result;
        std::optional<Array> array;
        experiment::window measured;
        measured.start();
        array.emplace(length, huge);
        append(*array, length, asked.seed());
        measured.stop(result);
        result.units = array->size();
        result.checksum = checksum_of(*array);
        const auto room = room_of(*array);
        const bool is_counted = std::is_same_v<element, counted_element>;
        const std::uint64_t moved = counted_element::moves - (is_counted ? length : 0);
        const bool commits = has_steps(asked.strategy);
        const suites::stopwatch clock;
        array.reset();
        result.more = {
            {"destroy_seconds", clock.elapsed_ns() * 1e-9},
            {"capacity_bytes", room ? std::optional<double>(*room * sizeof(element)) : std::nullopt},
            {"moved_elements", is_counted ? std::optional<double>(moved) : std::nullopt},
            {"commits", commits ? std::optional<double>(pages::account.commits) : std::nullopt},
            {"populates", commits ? std::optional<double>(pages::account.populates) : std::nullopt},
            {"committed_bytes", commits ? std::optional<double>(pages::account.committed_bytes) : std::nullopt},
        };
        return result;
    }
};

}  // namespace

void note_blocks(const point& asked, measure::littering& blocks) {
    if (!is_array(asked.strategy)) return;
    for (std::uint64_t room = 1; room < 2 * length_of(asked); room *= 2) {
        if (room * element_bytes(asked) <= measure::littering::most_bytes) blocks.note(room * element_bytes(asked));
    }
}

const workload growth{"growth",
                      "element",
                      parameters,
                      is_array,
                      with_array<growth_runner, pages>,
                      misfit_of_element,
                      least_bytes_of_elements};

}  // namespace millpond::reserve_commit
