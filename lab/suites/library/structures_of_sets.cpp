// SPDX-License-Identifier: BSL-1.0
// unordered_set_int and unordered_set_string.
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

}  // namespace

const workload unordered_set_int =
    structure_workload<structure_runner<flat_number_set>::of, 1 << 12>("unordered_set_int", "leaf");
const workload unordered_set_string =
    structure_workload<structure_runner<flat_text_set>::of, 1 << 12>("unordered_set_string", "leaf");

}  // namespace millpond::library
