// SPDX-License-Identifier: BSL-1.0
// os: what the library asks of the operating system.
#pragma once

#include "os/faults.hpp"
#include "os/optional_calls.hpp"
#include "os/pages.hpp"
