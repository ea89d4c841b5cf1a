// SPDX-License-Identifier: BSL-1.0
// wrap: layers over any allocator: checks, statistics, a time series, a limit, a lock.
#pragma once

#include "wrap/allocator_nature.hpp"
#include "wrap/call_site.hpp"
#include "wrap/checked.hpp"
#include "wrap/counted.hpp"
#include "wrap/in_mode.hpp"
#include "wrap/limited.hpp"
#include "wrap/misuse.hpp"
#include "wrap/size_histogram.hpp"
#include "wrap/synchronized.hpp"
#include "wrap/use_series.hpp"
#include "wrap/winking_scope.hpp"
