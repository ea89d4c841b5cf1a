// SPDX-License-Identifier: BSL-1.0
// parse_strict: JSON from outside, of which nothing is guessed: no name twice in an object, no nesting without end.
// Its strings are bytes again, as they were before a file kept them (lab/program/any_bytes.hpp).
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

// Far deeper than anything that the laboratory writes.
inline constexpr std::size_t json_depth_max = 64;

// Text that is not JSON, or not such that every reader would see the same in it. The message is a half-sentence with
// the line and the column.
class json_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws json_error: not JSON (or not UTF-8), a number that no number type holds, a name twice in one object, more
// than json_depth_max arrays and objects inside one another.
program::json parse_strict(const std::string& text);

// What `error` says, without the number that nlohmann puts before it, on one line.
std::string short_reason(const std::exception& error);

// `text` as a JSON string for a message: control characters escaped, and cut where it is long.
std::string quoted(const std::string& text);

}  // namespace millpond::plan
