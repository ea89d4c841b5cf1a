// SPDX-License-Identifier: BSL-1.0
// vector_vector_string, vector_unordered_set_int and vector_unordered_set_string: 128 leaves in each inner container.
#include "structures.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

struct string_vectors : nested_kind {
    template <class C>
    using structure = vector_of<C, vector_of<C, text_of<C>>>;
};
struct number_sets : nested_kind {
    template <class C>
    using structure = vector_of<C, number_set_of<C>>;
};
struct text_sets : nested_kind {
    template <class C>
    using structure = vector_of<C, text_set_of<C>>;
};

// Without fast_pool, as for the flat ones.
template <class Kind>
std::vector<entry> all() {
    return entries<structure_runner<Kind>::template of>(our_pools{}, our_monotonics{}, our_winked{}, heap_peers{},
                                                        pool_peers{}, monotonic_peers{}, ideals{});
}

}  // namespace

const workload vector_vector_string{"vector_vector_string", "leaf", "inner vectors",
                                    {1 << 8, 1 << 9},       {},     all<string_vectors>};
const workload vector_unordered_set_int{"vector_unordered_set_int", "leaf", "inner sets",
                                        {1 << 11, 1 << 12},         {},     all<number_sets>};
const workload vector_unordered_set_string{
    "vector_unordered_set_string", "leaf", "inner sets", {1 << 8, 1 << 9}, {}, all<text_sets>};

}  // namespace millpond::suites
