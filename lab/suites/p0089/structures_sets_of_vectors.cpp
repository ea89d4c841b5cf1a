// SPDX-License-Identifier: BSL-1.0
// DS9, unordered_set<vector<int>>, and DS10, unordered_set<vector<string>>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using set_of_number_vectors = container_set_of<C, vector_of<C, int>>;
template <class C>
using set_of_text_vectors = container_set_of<C, vector_of<C, text_of<C>>>;

}  // namespace

life ds9(strategy by, ending how) { return lives<set_of_number_vectors>::chosen_life(by, how); }
life ds10(strategy by, ending how) { return lives<set_of_text_vectors>::chosen_life(by, how); }

}  // namespace millpond::p0089
