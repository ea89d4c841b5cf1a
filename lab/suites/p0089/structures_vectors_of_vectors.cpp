// SPDX-License-Identifier: BSL-1.0
// DS5, vector<vector<int>>, and DS6, vector<vector<string>>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using vector_of_number_vectors = vector_of<C, nested_of<C, vector_of<C, int>>>;
template <class C>
using vector_of_text_vectors = vector_of<C, nested_of<C, vector_of<C, text_of<C>>>>;

}  // namespace

life ds5(strategy by, ending how) { return lives<vector_of_number_vectors>::chosen_life<tried_by_base>(by, how); }
life ds6(strategy by, ending how) { return lives<vector_of_text_vectors>::chosen_life<tried_by_base>(by, how); }

}  // namespace millpond::p0089
