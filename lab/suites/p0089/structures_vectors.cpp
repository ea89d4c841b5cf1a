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

life ds1(strategy by) { return lives<number_vector>::chosen_life(by); }
life ds2(strategy by) { return lives<text_vector>::chosen_life(by); }

}  // namespace millpond::p0089
