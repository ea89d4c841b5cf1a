// SPDX-License-Identifier: BSL-1.0
#include "window.hpp"

namespace millpond::frame {

// Alone in its file, so that no compiler sees who calls it.
extern "C" [[gnu::noinline]] void millpond_measured_window(void (*body)(void*), void* of) { body(of); }

}  // namespace millpond::frame
