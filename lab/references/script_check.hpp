// SPDX-License-Identifier: BSL-1.0
// check_call_script: whether a script of calls is as it was written, before it is played in a process of its own.
//
//   │ header: … sum │ call │ call │ … │   one pass, 64 KiB at a time
//
// The player has no room for words, so what is wrong is said here.
#pragma once

#include <string>

namespace millpond::references {

// Throws program::failure (3) for a script that is missing, of another version, cut or damaged. O(bytes).
void check_call_script(const std::string& path);

}  // namespace millpond::references
