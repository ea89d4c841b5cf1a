// SPDX-License-Identifier: BSL-1.0
// ranked_sets: sets of 64-bit numbers, Millpond's and their peers, with the names of a suite's table.
//
//   in order           ordered_set, counted_set, and the same with a pool inside; set, absl::btree_set, boost's
//   and with ranks     ours, and pb_ds's tree: nth(k), rank(number)
//
// Abseil's is compiled if CMake found it (MILLPOND_SUITE_ABSL), Boost's with MILLPOND_SUITE_BOOST.
#pragma once

#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <set>
#include <string_view>

#if defined(MILLPOND_SUITE_ABSL)
#include <absl/container/btree_set.h>
#endif
#if defined(MILLPOND_SUITE_BOOST)
#include <boost/container/flat_set.hpp>
#include <boost/container/set.hpp>
#endif

#include "millpond/container/counted_set.hpp"
#include "millpond/container/ordered_set.hpp"

namespace millpond::suites {

template <class Set>
struct named_set : Set {
    // Returns: number `index` in order, and the count of numbers less than `number`.
    [[nodiscard]] std::uint64_t number_at(std::size_t index) const { return *this->nth(index); }
    [[nodiscard]] std::size_t rank_of(std::uint64_t number) const { return this->rank(number); }
};
struct ordered_numbers : named_set<ordered_set<std::uint64_t>> {
    static constexpr std::string_view name = "ordered_set";
};
struct pooled_ordered_numbers : named_set<pooled_ordered_set<std::uint64_t>> {
    static constexpr std::string_view name = "pooled_ordered_set";
};
struct counted_numbers : named_set<counted_set<std::uint64_t>> {
    static constexpr std::string_view name = "counted_set";
};
struct pooled_counted_numbers : named_set<pooled_counted_set<std::uint64_t>> {
    static constexpr std::string_view name = "pooled_counted_set";
};
struct pb_ds_numbers : __gnu_pbds::tree<std::uint64_t, __gnu_pbds::null_type, std::less<>, __gnu_pbds::rb_tree_tag,
                                        __gnu_pbds::tree_order_statistics_node_update> {
    static constexpr std::string_view name = "pb_ds_tree";
    [[nodiscard]] std::uint64_t number_at(std::size_t index) const { return *find_by_order(index); }
    [[nodiscard]] std::size_t rank_of(std::uint64_t number) const { return order_of_key(number); }
};
struct std_numbers : std::set<std::uint64_t> {
    static constexpr std::string_view name = "set";
};
#if defined(MILLPOND_SUITE_ABSL)
struct absl_numbers : absl::btree_set<std::uint64_t> {
    static constexpr std::string_view name = "btree_set";
};
#endif
#if defined(MILLPOND_SUITE_BOOST)
struct boost_numbers : boost::container::set<std::uint64_t> {
    static constexpr std::string_view name = "boost_set";
};
struct flat_numbers : boost::container::flat_set<std::uint64_t> {
    static constexpr std::string_view name = "flat_set";
};
#endif

}  // namespace millpond::suites
