// SPDX-License-Identifier: BSL-1.0
// parse_strict: parses JSON from outside and rejects ambiguities: a name twice in an object, or too deep nesting. It
// converts strings back to the original bytes (lab/program/any_bytes.hpp).
//
// Use it for every JSON file that a user may have written. Cost: that of nlohmann's parser, and a set of names for each
// open object. Thread-safe.
#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include "lab/program/json.hpp"

namespace millpond::plan {

// Far deeper than any file that the laboratory writes.
inline constexpr std::size_t json_depth_max = 64;

// The text is not JSON, or readers could disagree on its meaning. The message is a half-sentence with the line and the
// column.
class json_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws json_error: not JSON (or not UTF-8), a number that no number type holds, a name twice in one object, more than
// json_depth_max nested arrays and objects.
program::json parse_strict(const std::string& text);

// Returns the message of `error` on one line, without the number that nlohmann puts before it.
std::string short_reason(const std::exception& error);

// Returns `text` as a JSON string for a message: control characters escaped, long text shortened.
std::string quoted(const std::string& text);

}  // namespace millpond::plan
