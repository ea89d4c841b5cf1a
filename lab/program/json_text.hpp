// SPDX-License-Identifier: BSL-1.0
// json_text: JSON as a file holds it, and the change of all its strings that makes it so.
//
//   value ──json_text──▶ text of a file ──parse──▶ kept strings ──change_strings(bytes_of)──▶ value
//
// Strings of a program may be of any bytes; any_bytes.hpp says how a file keeps them. Compiled once, for nlohmann's
// writer is expensive to compile. Linear. Thread-safe: no state.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace millpond::program {

// Changes every string of a value and every name in it.
void change_strings(nlohmann::json& value, const std::function<std::string(const std::string&)>& change);
void change_strings(nlohmann::ordered_json& value, const std::function<std::string(const std::string&)>& change);

// Every string is kept, whatever bytes it has. `indent` -1: on one line.
std::string json_text(const nlohmann::json& value, int indent = 2);
std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace millpond::program
