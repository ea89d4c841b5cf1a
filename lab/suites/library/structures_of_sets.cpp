// SPDX-License-Identifier: BSL-1.0
// Structures with sets: unordered_set_int, unordered_set_string, and vectors of containers with 128 leaves each:
// vector_vector_string, vector_unordered_set_int and vector_unordered_set_string.
#include "structures.hpp"

namespace millpond::library {
namespace {

struct flat_number_set : leaf_kind {
    template <class C>
    using structure = number_set_of<C>;
};
struct flat_text_set : leaf_kind {
    template <class C>
    using structure = text_set_of<C>;
};
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

const workload unordered_set_int =
    structure_workload<structure_runner<flat_number_set>::of, 1 << 12>("unordered_set_int", "leaf");
const workload unordered_set_string =
    structure_workload<structure_runner<flat_text_set>::of, 1 << 12>("unordered_set_string", "leaf");
const workload vector_vector_string =
    structure_workload<structure_runner<string_vectors>::of, 1 << 8>("vector_vector_string", "leaf");
const workload vector_unordered_set_int =
    structure_workload<structure_runner<number_sets>::of, 1 << 11>("vector_unordered_set_int", "leaf");
const workload vector_unordered_set_string =
    structure_workload<structure_runner<text_sets>::of, 1 << 8>("vector_unordered_set_string", "leaf");

}  // namespace millpond::library
