// SPDX-License-Identifier: BSL-1.0
#include "window.hpp"

namespace millpond::frame {

// In a file of its own, so that no compiler sees its callers.
extern "C" [[gnu::noinline]] void millpond_measured_window(void (*body)(void*), void* of) { body(of); }

}  // namespace millpond::frame
