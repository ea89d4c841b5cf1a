// SPDX-License-Identifier: BSL-1.0
// DS1, vector<int>, and DS2, vector<string>.
#include "structures.hpp"

namespace millpond::p0089 {
namespace {

template <class C>
using number_vector = vector_of<C, int>;
template <class C>
using text_vector = vector_of<C, text_of<C>>;

}  // namespace

life ds1(strategy by, ending how) { return lives<number_vector>::chosen_life(by, how); }
life ds2(strategy by, ending how) { return lives<text_vector>::chosen_life(by, how); }

}  // namespace millpond::p0089
