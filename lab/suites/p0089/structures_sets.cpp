// SPDX-License-Identifier: BSL-1.0
// DS3, unordered_set<int>, and DS4, unordered_set<string>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using number_set = number_set_of<C>;
template <class C>
using text_set = text_set_of<C>;

}  // namespace

life ds3(strategy by, ending how) { return lives<number_set>::chosen_life(by, how); }
life ds4(strategy by, ending how) { return lives<text_set>::chosen_life<tried_by_type>(by, how); }

}  // namespace millpond::p0089
