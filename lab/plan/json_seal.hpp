// SPDX-License-Identifier: BSL-1.0
// json_seal: a checksum within a JSON document, so that a reader notices damage.
//
//   {…}  ──sealed_text──▶  {…, "checksum": "crc32:1a2b3c4d"}  ──seal_flaw──▶ null, or what is wrong
//
// The checksum covers the values and not the text, so indentation and the order of members may change. A document
// without the member is accepted: older writers had none. The conductor has the same in system/json_seal.py. O(bytes),
// O(members log members). Thread-safe.
#pragma once

#include <string>

#include "lab/program/json.hpp"

namespace millpond::plan {

inline constexpr const char* seal_name = "checksum";

// Returns: the text of an object with its seal, as it is written to a file. `text`: JSON, as program::json_text has it.
std::string sealed_text(const std::string& text);

// Returns a half-sentence with the error; null if the checksum holds, or if there is no checksum.
const char* seal_flaw(const program::json& document);

}  // namespace millpond::plan
