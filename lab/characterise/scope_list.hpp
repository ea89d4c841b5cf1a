// SPDX-License-Identifier: BSL-1.0
// scope_list: the functions whose activations a second recording should observe, in the form that millpond-record
// --scopes reads.
//
//   subsystems with 99 % of the bytes ─▶ the scopes that legality judges ─▶ build-id (or file) : address, name
//
// lab/record/scope_list.hpp describes the format. At most scope_list_max functions, those of the largest subsystems
// first. Functions whose entry no context shows (only a split-off part allocates) are left out. Opens the modules'
// files again.
#pragma once

#include <cstddef>
#include <string>

#include "lab/characterise/characterisation.hpp"

namespace millpond::characterise {

constexpr std::size_t scope_list_max = 48;

std::string scope_list(const characterisation& all);

}  // namespace millpond::characterise
