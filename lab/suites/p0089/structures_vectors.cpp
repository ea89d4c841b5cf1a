// SPDX-License-Identifier: BSL-1.0
// DS5 to DS8: vectors of vector<int>, vector<string>, unordered_set<int> and unordered_set<string>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using vector_of_number_vectors = vector_of<C, nested_of<C, vector_of<C, int>>>;
template <class C>
using vector_of_text_vectors = vector_of<C, nested_of<C, vector_of<C, text_of<C>>>>;
template <class C>
using vector_of_number_sets = vector_of<C, nested_of<C, number_set_of<C>>>;
template <class C>
using vector_of_text_sets = vector_of<C, nested_of<C, text_set_of<C>>>;

}  // namespace

const chooser vectors_of_containers[4] = {
    lives<vector_of_number_vectors>::chosen_life<tried_by_base>,
    lives<vector_of_text_vectors>::chosen_life<tried_by_base>,
    lives<vector_of_number_sets>::chosen_life<tried_by_base>,
    lives<vector_of_text_sets>::chosen_life<tried_by_base>,
};

}  // namespace millpond::p0089
