// SPDX-License-Identifier: BSL-1.0
// check_call_script: checks that a script of calls is intact, before it is played in a process of its own.
//
//   │ header: … sum │ call │ call │ … │   one pass, 64 KiB at a time
//
// The player cannot print explanations, so this check explains what is wrong.
#pragma once

#include <string>

namespace millpond::references {

// Throws program::failure (3) if a script is missing, of another version, cut or damaged. O(bytes).
void check_call_script(const std::string& path);

}  // namespace millpond::references
