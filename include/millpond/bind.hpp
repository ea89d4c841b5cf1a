// SPDX-License-Identifier: BSL-1.0
// bind: connects containers to an allocator, by type or by base, and drops whole structures at once.
#pragma once

#include "bind/allocator.hpp"
#include "bind/is_winkable.hpp"
#include "bind/resource.hpp"
#include "bind/suballocator.hpp"
#include "bind/unique.hpp"
#include "bind/wink_out.hpp"
