// SPDX-License-Identifier: BSL-1.0
// json_seal: a checksum within a JSON document, so that a reader sees where it was damaged after it was written.
//
//   {…}  ──sealed_text──▶  {…, "checksum": "crc32:1a2b3c4d"}  ──seal_flaw──▶ null, or what is wrong
//
// It is of the values and not of the text, so a document may be indented again or its members may change places. A
// document without the member is taken as it is: older writers had none. The conductor has the same in
// system/json_seal.py. O(bytes), O(members log members). Thread-safe.
#pragma once

#include <string>

#include "lab/program/json.hpp"

namespace millpond::plan {

inline constexpr const char* seal_name = "checksum";

// Returns: the text of an object with its seal, as it is written to a file. `text`: JSON, as program::json_text has it.
std::string sealed_text(const std::string& text);

// A half-sentence; null where the seal holds, or where there is none.
const char* seal_flaw(const program::json& document);

}  // namespace millpond::plan
