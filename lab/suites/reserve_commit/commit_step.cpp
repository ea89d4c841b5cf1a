// SPDX-License-Identifier: BSL-1.0
// commit_step: the same growth with memory that comes in steps of one page, of two, … up to 16 MiB.
//
//   dyn_array        first = step: populated so much at a time; committed further ahead, 1 MiB or a step at least
//   dyn_array_2023   step: committed so much at a time, and faulted page by page
//
// A small step is a system call often, a large one leaves the cache before it is written, and may be there for nothing.
#include <algorithm>

#include "counted_pages.hpp"
#include "growing.hpp"
#include "lab/suites/experiment/window.hpp"

namespace millpond::reserve_commit {
namespace {

using pages = counted_pages<false>;

constexpr parameter parameters[] = {
    length_parameter, {"log2_step", 16, 12, 24, "bytes of a step"}, optimisation_parameter, experiment::seed_parameter};

template <class Array>
outcome grow(const point& asked, Array& array, experiment::window& measured) {
    outcome result;
    const std::uint64_t length = length_of(asked);
    const std::uint64_t seed = asked.seed();
    require_addresses(array, length);
    for (std::uint64_t i = 0; i < length; ++i) array.push_back(made<int>(i + seed));
    measured.stop(result);
    result.units = array.size();
    result.checksum = checksum_of(array);
    result.more = {
        {"commits", static_cast<double>(pages::account.commits)},
        {"populates", static_cast<double>(pages::account.populates)},
        {"committed_bytes", static_cast<double>(pages::account.committed_bytes)},
    };
    return result;
}

outcome run(const point& asked) {
    suites::forbid_huge_pages();
    const std::uint64_t most = length_of(asked) * suites::more_than_needed;
    const std::size_t step = asked.power("log2_step");
    experiment::window measured;
    measured.start();
    if (strategy_at(asked.strategy) == strategy::dyn_array_2023) {
        suites::dyn_array_2023<int, pages> array(most, step);
        return grow(asked, array, measured);
    }
    dyn_array<int, pages> array(most, {.first = step, .step = step, .ahead = std::max(step, commit_steps{}.ahead)});
    return grow(asked, array, measured);
}

}  // namespace

const workload commit_step{
    "commit_step", "element", parameters, has_steps, run, misfit_of_level, [](const point& asked) {
        return length_of(asked) * sizeof(int);
    }};

}  // namespace millpond::reserve_commit
