// SPDX-License-Identifier: BSL-1.0
// set_inserts: inserts random 64-bit numbers into a std::set. After chapter 4.4 of the document.
//
//   (collections before: inserted, cleared)  fill: insert all of the next collection  full_bytes  clear  empty_bytes
//   --inserts 0: the same, but only the nodes of this collection are allocated, and freed
//
// The document inserts "several collections", and compares the time with that of only allocating: if the fill without
// inserts takes 1 % of the seconds of the fill with them, the allocator has 1 % of the time. Each is a round of its
// own, so that both find the same memory: untouched, or left by the collections before. The numbers are drawn
// beforehand.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/number_set.hpp"
#include "lab/suites/common/slot_array.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::suballocator_suite {
namespace {

constexpr parameter parameters[] = {
    {"count", 1'000'000, 1, std::int64_t{1} << 31, "numbers of a collection; the document: 30 000 000"},
    {"collections_before", 0, 0, 1000, "inserted into the same memory, and cleared, before the one that is measured"},
    {"inserts", 1, 0, 1, "1: the numbers are inserted; 0: only as many nodes are allocated"},
    frame::seed_parameter,
};

constexpr metric metrics[] = {"fill_seconds", "clear_seconds", "full_bytes", "empty_bytes", "kept_share"};

// An object as large as a node of the set.
struct tree_node {
    std::uint64_t words[5];
    explicit operator std::uint64_t() const noexcept { return words[0]; }
};

// The thing that is filled: the set, or the array of nodes.
template <class C>
struct filled_set {
    suites::number_set<C> set;

    filled_set(typename C::pool& pool, std::uint64_t) : set(C::template bind<std::uint64_t>(pool)) {}
    void fill(const std::vector<std::uint64_t>& numbers) { suites::insert_all(set, numbers); }
    void clear() { set.clear(); }
    [[nodiscard]] std::uint64_t sum() const { return suites::sum_of(set); }
};
template <class C>
struct filled_nodes {
    suites::slot_array<C, tree_node> nodes;

    filled_nodes(typename C::pool& pool, std::uint64_t count) : nodes(pool, count) {}
    void fill(const std::vector<std::uint64_t>&) { nodes.fill(); }
    void clear() { nodes.free_from_first(); }
    [[nodiscard]] std::uint64_t sum() const { return nodes.sum(); }
};

template <class C>
struct set_inserts_runner {
    static outcome run(const point& asked) {
        return asked["inserts"] != 0 ? run_with<filled_set<C>>(asked) : run_with<filled_nodes<C>>(asked);
    }

    template <class Filled>
    static outcome run_with(const point& asked) {
        outcome result;
        suites::random_numbers random(asked.seed());
        std::vector<std::uint64_t> numbers(count_of(asked));
        for (std::uint64_t& number : numbers) number = suites::next_number(random);
        frame::window measured;
        std::optional<pool_and<Filled>> used(std::in_place, numbers.size());
        const std::uint64_t base = suites::resident_bytes();
        live_before(used->pool, asked, random);
        measured.run(result, [&] {
            measure(used->filled, numbers, base, result);
            used.reset();
        });
        result.set_count("units", numbers.size());
        return result;
    }

    // Both end within the window.
    template <class Filled>
    struct pool_and {
        typename C::pool pool;
        Filled filled;

        explicit pool_and(std::uint64_t count) : filled(pool, count) {}
    };

    template <class Filled>
    static void measure(Filled& filled, const std::vector<std::uint64_t>& numbers, std::uint64_t base,
                        outcome& result) {
        const double fill = seconds_of([&] { filled.fill(numbers); });
        const double full_bytes = resident_above(base);
        result.checksum = filled.sum();
        const double clear = seconds_of([&] { filled.clear(); });
        const double empty_bytes = resident_above(base);
        result.set_all({{"fill_seconds", fill},
                        {"clear_seconds", clear},
                        {"full_bytes", full_bytes},
                        {"empty_bytes", empty_bytes},
                        kept_share(full_bytes, empty_bytes)});
    }

    static void live_before(typename C::pool& pool, const point& asked, suites::random_numbers& random) {
        suites::number_set<C> earlier(C::template bind<std::uint64_t>(pool));
        for (std::int64_t i = 0; i < asked["collections_before"]; ++i) {
            for (std::uint64_t n = 0; n < count_of(asked); ++n) earlier.insert(suites::next_number(random));
            earlier.clear();
        }
    }
};

outcome run(const point& asked) {
    if (asked.is_for_littering) return set_inserts_runner<noted_heap>::run(asked);
    return chosen<set_inserts_runner, sizeof(tree_node)>(asked.contender)(asked);
}

std::string misfit(const point& asked) {
    if (asked["inserts"] == 0 && !is_allocator(asked.contender))
        return "a pool inside a set cannot be asked for a single node";
    return {};
}

// The nodes, and the numbers that were drawn.
std::uint64_t least_bytes(const point& asked) { return (sizeof(tree_node) + sizeof(std::uint64_t)) * count_of(asked); }

}  // namespace

const workload set_inserts{.name = "set_inserts",
                           .unit = "element",
                           .parameters = parameters,
                           .metrics = metrics,
                           .run = run,
                           .misfit = misfit,
                           .least_bytes = least_bytes};

}  // namespace millpond::suballocator_suite
