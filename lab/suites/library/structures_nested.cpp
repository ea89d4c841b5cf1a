// SPDX-License-Identifier: BSL-1.0
// vector_vector_string, vector_unordered_set_int and vector_unordered_set_string: 128 leaves in each inner container.
#include "structures.hpp"

namespace millpond::library {
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

}  // namespace

const workload vector_vector_string =
    structure_workload<structure_runner<string_vectors>::of, 1 << 8>("vector_vector_string", "leaf");
const workload vector_unordered_set_int =
    structure_workload<structure_runner<number_sets>::of, 1 << 11>("vector_unordered_set_int", "leaf");
const workload vector_unordered_set_string =
    structure_workload<structure_runner<text_sets>::of, 1 << 8>("vector_unordered_set_string", "leaf");

}  // namespace millpond::library
