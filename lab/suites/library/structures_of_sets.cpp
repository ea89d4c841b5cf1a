// SPDX-License-Identifier: BSL-1.0
// unordered_set_int and unordered_set_string.
#include "structures.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

struct numbers : leaf_kind {
    template <class C>
    using structure = number_set_of<C>;
};
struct texts : leaf_kind {
    template <class C>
    using structure = text_set_of<C>;
};

// Without fast_pool: it searches its free nodes for the array of buckets.
template <class Kind>
std::vector<entry> all() {
    return entries<structure_runner<Kind>::template of>(our_pools{}, our_monotonics{}, our_winked{}, heap_peers{},
                                                        pool_peers{}, monotonic_peers{}, ideals{});
}

}  // namespace

const workload unordered_set_int{"unordered_set_int", "leaf", "numbers", {1 << 12, 1 << 14}, {}, all<numbers>};
const workload unordered_set_string{"unordered_set_string",      "leaf", "strings",
                                    {1 << 12, 1 << 14, 1 << 16}, {},     all<texts>};

}  // namespace millpond::suites
