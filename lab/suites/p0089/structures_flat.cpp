// SPDX-License-Identifier: BSL-1.0
// DS1 to DS4: vector<int>, vector<string>, unordered_set<int> and unordered_set<string>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using number_vector = vector_of<C, int>;
template <class C>
using text_vector = vector_of<C, text_of<C>>;

}  // namespace

const chooser flat_structures[4] = {
    lives<number_vector>::chosen_life,
    lives<text_vector>::chosen_life,
    lives<number_set_of>::chosen_life,
    lives<text_set_of>::chosen_life<tried_by_type>,
};

}  // namespace millpond::p0089
