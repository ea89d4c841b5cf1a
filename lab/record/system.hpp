// SPDX-License-Identifier: BSL-1.0
// system: the names of preload/system.hpp that the recorder uses throughout.
#pragma once

#include "preload/system.hpp"

namespace millpond::record {

using preload::file;
using preload::is_error;
using preload::system_call;
using preload::ticks;

}  // namespace millpond::record
