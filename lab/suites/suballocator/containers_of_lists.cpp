// SPDX-License-Identifier: BSL-1.0
// containers_of_lists: the lists of the workload `containers`, and the workload itself.
#include <forward_list>
#include <iterator>
#include <list>
#include <string>
#include <string_view>

#include "containers.hpp"
#include "millpond/container/pooled_forward_list.hpp"
#include "millpond/container/pooled_list.hpp"

namespace millpond::suballocator_suite {
namespace {

struct of_list {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 3 * sizeof(void*);
    template <class Allocator>
    using over = std::list<value, Allocator>;
};
struct of_forward_list {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 2 * sizeof(void*);
    template <class Allocator>
    using over = std::forward_list<value, Allocator>;
};

using frame::parameter;

constexpr std::string_view kinds[] = {"list",          "forward_list",      "set",           "multiset",
                                      "map",           "multimap",          "unordered_set", "unordered_multiset",
                                      "unordered_map", "unordered_multimap"};
constexpr outcome (*runs[])(const point&) = {
    run_list,          run_forward_list,       run_set,           run_multiset,          run_map, run_multimap,
    run_unordered_set, run_unordered_multiset, run_unordered_map, run_unordered_multimap};
static_assert(std::size(kinds) == std::size(runs));
constexpr std::int64_t first_hashed = 6;

constexpr parameter parameters[] = {
    {"container", 0, 0, std::size(kinds) - 1, "of numbers, or of pairs of them", kinds},
    {"count", 1'000'000, 2, std::int64_t{1} << 31, "elements"},
    {"collections_before", 0, 0, 1000, "filled and cleared in the same memory before the one that is measured"},
    frame::seed_parameter,
};
constexpr metric metrics[] = {"fill_seconds",
                              "free_from_last_seconds",
                              "free_from_first_seconds",
                              "free_odd_seconds",
                              "free_and_allocate_odd_seconds",
                              "full_bytes",
                              "empty_bytes",
                              "kept_share"};

outcome run(const point& asked) { return runs[asked["container"]](asked); }

// Boost's pools search their free nodes one by one for an array, which takes practically forever.
std::string misfit(const point& asked) {
    const bool is_for_nodes = contenders[asked.contender].name.starts_with("fast_pool");
    if (is_for_nodes && asked["container"] >= first_hashed)
        return "a pool for nodes has no arrays for a hashed container";
    return {};
}

// A number, and the pointer to the next node.
std::uint64_t least_bytes(const point& asked) { return 2 * sizeof(std::uint64_t) * count_of(asked); }

}  // namespace

const workload containers{.name = "containers",
                          .unit = "element",
                          .parameters = parameters,
                          .metrics = metrics,
                          .run = run,
                          .misfit = misfit,
                          .least_bytes = least_bytes};

outcome run_list(const point& asked) { return run_container<of_list>(asked); }
outcome run_forward_list(const point& asked) { return run_container<of_forward_list>(asked); }

}  // namespace millpond::suballocator_suite
