// SPDX-License-Identifier: BSL-1.0
// container: containers that own their memory.
#pragma once

#include "container/commit_steps.hpp"
#include "container/counted_map.hpp"
#include "container/counted_set.hpp"
#include "container/dyn_array.hpp"
#include "container/ordered_map.hpp"
#include "container/ordered_set.hpp"
#include "container/vector_tree.hpp"
