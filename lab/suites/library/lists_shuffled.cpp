// SPDX-License-Identifier: BSL-1.0
// lists_shuffled: measures how shuffling slows the traversal of many linked lists. Benchmark II of P0089R0, section 8
// (lab/suites/common/list_system.hpp). before_ns, after_ns: a node visited, before and after.
//
// The document's own measurement (lab/suites/p0089/locality.cpp) differs: it also times shuffling, and counts
// everything after the construction.
//
// Lists are traversed af times, one after the other. Only some evenly spaced lists are visited, so that a traversal
// makes about two visits of every node, but at least two lists: with a high access factor, a part of the lists is
// representative. Without monotonic contenders, because what a list frees would never be used again. Without the
// synchronized pools, because there would be as many locks as lists.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/list_system.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

template <class List>
[[gnu::noinline]] std::uint64_t sum_of(const List& numbers) {
    std::uint64_t sum = 0;
    for (const int number : numbers) sum += static_cast<std::uint32_t>(number);
    return sum;
}

struct traversal {
    std::uint64_t stride, access_factor, rounds;
};

// Effects: visits every `stride`-th list `access_factor` times before the next, the whole `rounds` times. Lists are
// read, and not written as in the document: what is measured is where the nodes lie. Returns: ns a node visited.
template <class System>
double traverse(System& system, const traversal& by, std::uint64_t& checksum) {
    std::uint64_t visited = 0;
    const stopwatch clock;
    for (std::uint64_t round = 0; round < by.rounds; ++round) {
        for (std::uint64_t i = 0; i < system.size(); i += by.stride) {
            const auto& numbers = system[i].numbers;
            for (std::uint64_t n = 0; n < by.access_factor; ++n) {
                checksum += (i + 1) * sum_of(numbers);
                clobber();  // or the compiler would see that one visit is enough
            }
            visited += numbers.size() * by.access_factor;
        }
    }
    return clock.elapsed_ns() / static_cast<double>(visited);
}

template <class C>
struct lists_runner {
    static outcome run(const point& asked) {
        const std::uint64_t nodes = asked.count("units");
        const std::uint64_t access_factor = asked.count("af");
        const std::uint64_t size = std::min(asked.count("size"), nodes);
        const std::uint64_t lists = nodes / size;
        const std::uint64_t wanted = 2 * nodes / (access_factor * size);
        const std::uint64_t chosen = std::clamp(wanted, std::min<std::uint64_t>(2, lists), lists);
        const traversal by{lists / chosen, access_factor, wanted > lists ? wanted / lists : 1};

        outcome result;
        const resident_meter resident;
        const stopwatch clock;
        {
            list_system<list_subsystem<C>> system(lists, size, asked.seed());
            result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(nodes));
            result.set("before_ns", traverse(system, by, result.checksum));
            system.template shuffle<true>(asked.count("sf") * nodes);
            result.set("after_ns", traverse(system, by, result.checksum));
        }
        result.set_count("units", by.rounds * chosen * size * access_factor);
        set_resident(result, resident);
        return result;
    }
};

struct ideal_node_pool : by_type<ideal_nodes> {
    static constexpr std::string_view name = "ideal_free_list";
};

std::vector<entry> all() {
    return entries<lists_runner>(our_pools{}, heap_peers{}, node_peers{}, std_pools{}, boost_pools{}, other_pools{},
                                 contender_list<ideal_node_pool>{});
}

constexpr parameter parameters[] = {
    size_parameter(1 << 16, "nodes a list"),
    {"units", 1 << 21, 1, many, "nodes in all"},
    {"af", 1, 1, 1 << 20, "access factor: traversals of a list before the next one's turn"},
    {"sf", 5, 0, 1 << 10, "shuffle factor: moves for each node"},
    seed_parameter,
};
constexpr metric metrics[] = {"cold_ns", "before_ns", "after_ns"};

}  // namespace

const workload lists_shuffled = workload_of<all>("lists_shuffled", "node", parameters, metrics);

}  // namespace millpond::library
