// SPDX-License-Identifier: BSL-1.0
// containers_of_trees: the ordered containers of the workload `containers`.
#include <functional>
#include <map>
#include <set>

#include "containers.hpp"
#include "millpond/container/pooled_map.hpp"
#include "millpond/container/pooled_multimap.hpp"
#include "millpond/container/pooled_multiset.hpp"
#include "millpond/container/pooled_set.hpp"

namespace millpond::suballocator_suite {
namespace {

struct of_set {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 40;
    template <class Allocator>
    using over = std::set<value, std::less<>, Allocator>;
};
struct of_multiset {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 40;
    template <class Allocator>
    using over = std::multiset<value, std::less<>, Allocator>;
};
struct of_map {
    using value = std::pair<const std::uint64_t, std::uint64_t>;
    static constexpr std::size_t node_bytes = 48;
    template <class Allocator>
    using over = std::map<std::uint64_t, std::uint64_t, std::less<>, Allocator>;
};
struct of_multimap {
    using value = std::pair<const std::uint64_t, std::uint64_t>;
    static constexpr std::size_t node_bytes = 48;
    template <class Allocator>
    using over = std::multimap<std::uint64_t, std::uint64_t, std::less<>, Allocator>;
};

}  // namespace

outcome run_set(const point& asked) { return run_container<of_set>(asked); }
outcome run_multiset(const point& asked) { return run_container<of_multiset>(asked); }
outcome run_map(const point& asked) { return run_container<of_map>(asked); }
outcome run_multimap(const point& asked) { return run_container<of_multimap>(asked); }

}  // namespace millpond::suballocator_suite
