// SPDX-License-Identifier: BSL-1.0
// DS7, vector<unordered_set<int>>, and DS8, vector<unordered_set<string>>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using vector_of_number_sets = vector_of<C, nested_of<C, number_set_of<C>>>;
template <class C>
using vector_of_text_sets = vector_of<C, nested_of<C, text_set_of<C>>>;

}  // namespace

life ds7(strategy by, ending how) { return lives<vector_of_number_sets>::chosen_life<tried_by_base>(by, how); }
life ds8(strategy by, ending how) { return lives<vector_of_text_sets>::chosen_life<tried_by_base>(by, how); }

}  // namespace millpond::p0089
