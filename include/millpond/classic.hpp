// SPDX-License-Identifier: BSL-1.0
// classic: the allocators compared in the study of 1993 (Grunwald, Zorn and Henderson), and others that it names.
#pragma once

#include "classic/best_fit.hpp"
#include "classic/binary_buddy.hpp"
#include "classic/bsd.hpp"
#include "classic/coalescing.hpp"
#include "classic/counted_arena.hpp"
#include "classic/fibonacci_buddy.hpp"
#include "classic/first_fit.hpp"
#include "classic/gnu_gxx.hpp"
#include "classic/gnu_local.hpp"
#include "classic/heap_record.hpp"
#include "classic/heap_use.hpp"
#include "classic/operation_counts.hpp"
#include "classic/predicted_site.hpp"
#include "classic/quick_fit.hpp"
#include "classic/size_map.hpp"
#include "classic/words.hpp"
