// SPDX-License-Identifier: BSL-1.0
// scope_list: the functions whose activations a second recording should observe, as millpond-record --scopes reads
// them.
//
//   subsystems with 99 % of the bytes ─▶ the scopes that legality judges ─▶ build-id (or file) : address, name
//
// The format stands in lab/record/scope_list.hpp. At most scope_list_max functions, those of the largest subsystems
// first. Functions whose entry no context shows (a part of it alone allocates) are left out. Opens the modules' files
// again.
#pragma once

#include <cstddef>
#include <string>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

constexpr std::size_t scope_list_max = 48;

std::string scope_list(const characterisation& all);

}  // namespace millpond::characterise
