// SPDX-License-Identifier: BSL-1.0
// structures: Benchmark I: structure after structure, as many as make up 2^log2_leaves leaves.
#include <algorithm>

#include "lab/suites/experiment/window.hpp"
#include "life.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

constexpr std::int64_t shortest_text = 33;
constexpr std::uint64_t least_leaves_drawn = std::uint64_t{1} << 16;

constexpr parameter parameters[] = {
    {"ds", 1, 1, 12, "data structure DS1 to DS12 of P0089R0, table 2"},
    {"log2_size", 6, 0, 24, "elements of the outer container"},
    {"log2_leaves", 22, 0, 40, "leaves created in all; the paper: 27. At least one structure is"},
    {"text_most", 1000, shortest_text, 1000, "texts have 33 to so many characters"},
    {"on_stack", 0, 0, 1, "where a structure that is winked out lies: in its allocator (0), on the stack (1)"},
    experiment::seed_parameter,
};

using chooser = life (*)(strategy, ending);
constexpr chooser choosers[] = {ds1, ds2, ds3, ds4, ds5, ds6, ds7, ds8, ds9, ds10, ds11, ds12};

std::int64_t log2_leaves_each(const point& asked) {
    return asked["log2_size"] + (asked["ds"] >= 5 ? static_cast<std::int64_t>(suites::log2_inner_elements) : 0);
}

ending ending_of(const point& asked) {
    if (!by(asked).winks) return ending::destroy;
    return asked["on_stack"] == 0 ? ending::wink : ending::wink_on_stack;
}

outcome run(const point& asked) {
    const std::int64_t log2_structures = std::max<std::int64_t>(0, asked["log2_leaves"] - log2_leaves_each(asked));
    const std::uint64_t count = asked.is_for_littering ? 1 : std::uint64_t{1} << log2_structures;
    const std::uint64_t leaves_each = std::uint64_t{1} << log2_leaves_each(asked);
    const std::uint64_t elements = asked.power("log2_size");
    // Structures draw on from where the last one ended, so that small ones are not all alike.
    suites::leaves from(std::max(leaves_each, least_leaves_drawn), asked.seed(),
                        static_cast<std::uint32_t>(asked["text_most"]));
    const life live_once = choosers[asked["ds"] - 1](by(asked), ending_of(asked));

    outcome result;
    experiment::window measured;
    measured.run(result, [&] {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (from.left() < leaves_each) from.reset();
            result.checksum += live_once(elements, from);
        }
    });
    result.units = count * leaves_each;
    result.more = {{"structures", static_cast<double>(count)}};
    return result;
}

std::string misfit(const point& asked) {
    if (asked["ds"] >= 5 && asked["log2_size"] > 20) return "log2_size is at most 20 where containers are nested";
    return {};
}

// The leaves of one structure, whatever the strategy: numbers, or texts of middle length with their handles.
std::uint64_t least_bytes(const point& asked) {
    const bool has_texts = asked["ds"] % 2 == 0;
    const std::int64_t leaf = has_texts ? 32 + (shortest_text + asked["text_most"]) / 2 : 4;
    return static_cast<std::uint64_t>(leaf) << log2_leaves_each(asked);
}

}  // namespace

const workload structures{"structures", "leaf", parameters, takes_all, run, misfit, least_bytes};

}  // namespace millpond::p0089
