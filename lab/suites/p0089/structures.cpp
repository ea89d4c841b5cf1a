// SPDX-License-Identifier: BSL-1.0
// structures: Benchmark I: makes structure after structure, with 2^log2_leaves leaves in all, or `lives` structures.
//
//   life │ life life life … life         one cold life, timed apart, touches every page first; the others are measured
//   cold   └── measured window ──┘       (P0089R0, section 7: each structure is created and destroyed many times)
#include <algorithm>
#include <utility>

#include "base_pool.hpp"
#include "lab/measure/clocks.hpp"
#include "lab/suites/frame/window.hpp"
#include "life.hpp"
#include "millpond/bind/resource.hpp"
#include "millpond/block/new_delete.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

std::uint64_t blocks_counted = 0;

class counted_new_delete : public new_delete {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        ++blocks_counted;
        return new_delete::allocate(bytes, alignment);
    }
};

// Effects: runs work() between a change of base and the change back. No base pool lives before or after. Returns: the
// number of blocks it asks the abstract base for, whatever the strategy's own allocator is. A count without noise; not
// to be timed, and not thread-safe.
template <class Work>
std::uint64_t counted_blocks(Work work) {
    const base_maker before = std::exchange(base_made, maker_of<resource<counted_new_delete>>());
    blocks_counted = 0;
    work();
    base_made = before;
    return blocks_counted;
}

constexpr std::int64_t shortest_text = 33;
constexpr std::uint64_t least_leaves_drawn = std::uint64_t{1} << 16;

constexpr parameter parameters[] = {
    {"ds", 1, 1, 12, "data structure DS1 to DS12 of P0089R0, table 2"},
    {"log2_size", 6, 0, 24, "elements of the outer container"},
    {"log2_leaves", 22, 0, 40, "leaves created in all; the paper: 27. At least one structure is"},
    {"lives", 0, 0, std::int64_t{1} << 40, "structures in all, in the place of log2_leaves; 0: as many as it says"},
    {"text_most", 1000, shortest_text, 1000, "texts have 33 to so many characters"},
    {"on_stack", 0, 0, 1, "where a structure that is winked out lies: in its allocator (0), on the stack (1)"},
    {"short_by", 0, 0, 1, "elements that an outer vector is reserved too few for, so that it grows at the last"},
    {"counted", 0, 0, 1, "count the blocks of one structure more, after the measured ones (bindings by base)"},
    {"cold", 1, 0, 1, "build and drop one structure before the measured ones, and time it apart"},
    frame::seed_parameter,
};

constexpr metric metrics[] = {{"blocks_each", "blocks"}, {"lives", "lives"}, "cold_cpu_seconds"};

constexpr const chooser* choosers[] = {flat_structures, vectors_of_containers, sets_of_containers};

std::int64_t log2_leaves_each(const point& asked) {
    return asked["log2_size"] + (asked["ds"] >= 5 ? static_cast<std::int64_t>(suites::log2_inner_elements) : 0);
}

ending ending_of(const point& asked) {
    if (!by(asked).winks) return ending::destroy;
    return asked["on_stack"] == 0 ? ending::wink : ending::wink_on_stack;
}

life life_of(const point& asked, ending how) {
    const std::int64_t place = asked["ds"] - 1;
    return choosers[place / 4][place % 4](by(asked), how);
}

std::uint64_t lives_of(const point& asked) {
    if (asked.is_for_littering) return 1;
    if (asked["lives"] != 0) return asked.count("lives");
    return std::uint64_t{1} << std::max<std::int64_t>(0, asked["log2_leaves"] - log2_leaves_each(asked));
}

outcome run(const point& asked) {
    const std::uint64_t count = lives_of(asked);
    const std::uint64_t leaves_each = std::uint64_t{1} << log2_leaves_each(asked);
    const std::uint64_t elements = asked.power("log2_size");
    const suites::extent wanted{elements, elements - static_cast<std::uint64_t>(asked["short_by"])};
    // Each structure continues with the leaves after those of the last one, so that small structures differ.
    suites::leaves from(std::max(leaves_each, least_leaves_drawn), asked.seed(),
                        static_cast<std::uint32_t>(asked["text_most"]));
    const life live_once = life_of(asked, ending_of(asked));

    outcome result;
    frame::window measured;
    if (asked["cold"] != 0 && !asked.is_for_littering) {
        const double before = measure::process_cpu_seconds();
        result.checksum = live_once(wanted, from);
        result.set("cold_cpu_seconds", measure::process_cpu_seconds() - before);
    }
    measured.run(result, [&] {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (from.left() < leaves_each) from.reset();
            result.checksum += live_once(wanted, from);
        }
    });
    result.set_count("units", count * leaves_each);
    result.set_count("lives", count);
    if (asked["counted"] != 0 && by(asked).by_base()) {
        from.reset();
        const life destroyed = life_of(asked, ending::destroy);
        result.set_count("blocks_each", counted_blocks([&] { destroyed(wanted, from); }));
    }
    return result;
}

std::string misfit(const point& asked) {
    const std::int64_t ds = asked["ds"];
    if (life_of(asked, ending_of(asked)) == nullptr)
        return name_of(by(asked)) + " is compiled for " +
               (by(asked).by_base() ? "vectors of containers, ds 5 to 8" : "sets of texts, ds 4 and 12") +
               ", the structures it may explain";
    const bool has_vector = ds <= 2 || (ds >= 5 && ds <= 8);
    if (asked["short_by"] != 0 && !has_vector) return "short_by is of an outer vector: ds 1, 2 and 5 to 8";
    if (ds >= 5 && asked["log2_size"] > 20) return "log2_size is at most 20 where containers are nested";
    return {};
}

// The leaves of one structure, whatever the strategy: numbers, or texts of middle length with their handles.
std::uint64_t least_bytes(const point& asked) {
    const bool has_texts = asked["ds"] % 2 == 0;
    const std::int64_t leaf = has_texts ? 32 + (shortest_text + asked["text_most"]) / 2 : 4;
    return static_cast<std::uint64_t>(leaf) << log2_leaves_each(asked);
}

}  // namespace

const workload structures{.name = "structures",
                          .unit = "leaf",
                          .parameters = parameters,
                          .metrics = metrics,
                          .run = run,
                          .misfit = misfit,
                          .least_bytes = least_bytes};

}  // namespace millpond::p0089
