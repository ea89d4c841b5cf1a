// SPDX-License-Identifier: BSL-1.0
// DS9 to DS12: unordered_sets of vector<int>, vector<string>, unordered_set<int> and unordered_set<string>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using set_of_number_vectors = container_set_of<C, vector_of<C, int>>;
template <class C>
using set_of_text_vectors = container_set_of<C, vector_of<C, text_of<C>>>;
template <class C>
using set_of_number_sets = container_set_of<C, number_set_of<C>>;
template <class C>
using set_of_text_sets = container_set_of<C, text_set_of<C>>;

}  // namespace

const chooser sets_of_containers[4] = {
    lives<set_of_number_vectors>::chosen_life,
    lives<set_of_text_vectors>::chosen_life,
    lives<set_of_number_sets>::chosen_life,
    lives<set_of_text_sets>::chosen_life<tried_by_type>,
};

}  // namespace millpond::p0089
