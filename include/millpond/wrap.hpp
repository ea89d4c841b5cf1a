// SPDX-License-Identifier: BSL-1.0
// wrap: what composes over any allocator.
#pragma once

#include "wrap/synchronized.hpp"
