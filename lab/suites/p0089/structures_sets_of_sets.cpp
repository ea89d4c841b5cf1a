// SPDX-License-Identifier: BSL-1.0
// DS11, unordered_set<unordered_set<int>>, and DS12, unordered_set<unordered_set<string>>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using set_of_number_sets = container_set_of<C, number_set_of<C>>;
template <class C>
using set_of_text_sets = container_set_of<C, text_set_of<C>>;

}  // namespace

life ds11(strategy by, ending how) { return lives<set_of_number_sets>::chosen_life(by, how); }
life ds12(strategy by, ending how) { return lives<set_of_text_sets>::chosen_life<tried_by_type>(by, how); }

}  // namespace millpond::p0089
