// SPDX-License-Identifier: BSL-1.0
// core: the basis of all other folders: alignment, concepts, size classes, sanitizer hooks, running out of memory.
#pragma once

#include "core/abi.hpp"
#include "core/allocation.hpp"
#include "core/class_map.hpp"
#include "core/concepts.hpp"
#include "core/exact_spacing.hpp"
#include "core/four_an_octave.hpp"
#include "core/out_of_memory.hpp"
#include "core/powers_of_two.hpp"
#include "core/size_class_scheme.hpp"
