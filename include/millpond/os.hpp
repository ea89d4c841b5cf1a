// SPDX-License-Identifier: BSL-1.0
// os: the services of the operating system that the library uses.
#pragma once

#include "os/faults.hpp"
#include "os/file_pages.hpp"
#include "os/numa_pages.hpp"
#include "os/optional_calls.hpp"
#include "os/pages.hpp"
#include "os/thread_end.hpp"
