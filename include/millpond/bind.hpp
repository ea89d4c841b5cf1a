// SPDX-License-Identifier: BSL-1.0
// bind: how containers reach an allocator, by type or by base, and how they leave it at once.
#pragma once

#include "bind/allocator.hpp"
#include "bind/is_winkable.hpp"
#include "bind/resource.hpp"
#include "bind/suballocator.hpp"
#include "bind/unique.hpp"
#include "bind/wink_out.hpp"
