// SPDX-License-Identifier: BSL-1.0
// from_nlohmann: converts a value of nlohmann's library to json.hpp's, for readers that watch its parser. `change`:
// converts each string and name, such as bytes_of. Linear. Thread-safe: no state.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lab/program/json.hpp"

namespace millpond::program {

using string_change = std::string (*)(std::string_view);

json from_nlohmann(const nlohmann::ordered_json& value, string_change change);

}  // namespace millpond::program
