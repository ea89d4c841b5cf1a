// SPDX-License-Identifier: BSL-1.0
// containers_of_hashes: the hashed containers of the workload `containers`.
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "containers.hpp"
#include "millpond/container/pooled_unordered_map.hpp"
#include "millpond/container/pooled_unordered_multimap.hpp"
#include "millpond/container/pooled_unordered_multiset.hpp"
#include "millpond/container/pooled_unordered_set.hpp"

namespace millpond::suballocator_suite {
namespace {

struct of_unordered_set {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 16;
    template <class Allocator>
    using over = std::unordered_set<value, std::hash<std::uint64_t>, std::equal_to<>, Allocator>;
};
struct of_unordered_multiset {
    using value = std::uint64_t;
    static constexpr std::size_t node_bytes = 16;
    template <class Allocator>
    using over = std::unordered_multiset<value, std::hash<std::uint64_t>, std::equal_to<>, Allocator>;
};
struct of_unordered_map {
    using value = std::pair<const std::uint64_t, std::uint64_t>;
    static constexpr std::size_t node_bytes = 24;
    template <class Allocator>
    using over = std::unordered_map<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>, std::equal_to<>, Allocator>;
};
struct of_unordered_multimap {
    using value = std::pair<const std::uint64_t, std::uint64_t>;
    static constexpr std::size_t node_bytes = 24;
    template <class Allocator>
    using over =
        std::unordered_multimap<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>, std::equal_to<>, Allocator>;
};

}  // namespace

outcome run_unordered_set(const point& asked) { return run_container<of_unordered_set>(asked); }
outcome run_unordered_multiset(const point& asked) { return run_container<of_unordered_multiset>(asked); }
outcome run_unordered_map(const point& asked) { return run_container<of_unordered_map>(asked); }
outcome run_unordered_multimap(const point& asked) { return run_container<of_unordered_multimap>(asked); }

}  // namespace millpond::suballocator_suite
