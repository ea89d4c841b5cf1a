// SPDX-License-Identifier: BSL-1.0
// commit_step: the same growth with memory that comes in steps of one page, of two, … up to 16 MiB.
//
//   dyn_array        first = step: populated so much at a time; committed further ahead, 1 MiB or a step at least
//   dyn_array_2023   step: committed so much at a time, and faulted page by page
//
// A small step costs many system calls. A large one leaves the cache before it is written, and may never be used.
#include <algorithm>
#include <optional>

#include "counted_pages.hpp"
#include "growing.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<false>;

constexpr parameter parameters[] = {
    length_parameter, {"log2_step", 16, 12, 24, "bytes of a step"}, optimisation_parameter, frame::seed_parameter};

constexpr metric metrics[] = {"commits", "populates", "committed_bytes"};

// `construct`: makes the array in the given place.
template <class Array, class Construct>
outcome grow_in_steps(const point& asked, Construct construct) {
    outcome result;
    std::optional<Array> array;
    const auto append_all = [length = length_of(asked), seed = asked.seed()](Array& to) { append(to, length, seed); };
    grow(asked, array, result, construct, append_all);
    result.set_count("commits", pages::account.commits);
    result.set_count("populates", pages::account.populates);
    result.set_count("committed_bytes", pages::account.committed_bytes);
    return result;
}

outcome run(const point& asked) {
    suites::forbid_huge_pages();
    const std::uint64_t most = length_of(asked) * suites::more_than_needed;
    const std::size_t step = asked.power("log2_step");
    if (contender_of(asked) == contender::dyn_array_2023) {
        using array = suites::dyn_array_2023<int, pages>;
        return grow_in_steps<array>(asked, [&](std::optional<array>& place) { place.emplace(most, step); });
    }
    using array = dyn_array<int, pages>;
    const commit_steps steps{.first = step, .step = step, .ahead = std::max(step, commit_steps{}.ahead)};
    return grow_in_steps<array>(asked, [&](std::optional<array>& place) { place.emplace(most, steps); });
}

}  // namespace

const workload commit_step{.name = "commit_step",
                           .unit = "element",
                           .parameters = parameters,
                           .metrics = metrics,
                           .takes = has_steps,
                           .run = run,
                           .misfit = misfit_of_level,
                           .least_bytes = [](const point& asked) { return length_of(asked) * sizeof(int); }};

}  // namespace millpond::reserve_commit
