// SPDX-License-Identifier: BSL-1.0
// container: containers that own their memory.
#pragma once

#include "container/commit_steps.hpp"
#include "container/counted_map.hpp"
#include "container/counted_set.hpp"
#include "container/dyn_array.hpp"
#include "container/ordered_map.hpp"
#include "container/ordered_set.hpp"
#include "container/pooled.hpp"
#include "container/pooled_forward_list.hpp"
#include "container/pooled_list.hpp"
#include "container/pooled_map.hpp"
#include "container/pooled_multimap.hpp"
#include "container/pooled_multiset.hpp"
#include "container/pooled_set.hpp"
#include "container/pooled_stats.hpp"
#include "container/pooled_unordered_map.hpp"
#include "container/pooled_unordered_multimap.hpp"
#include "container/pooled_unordered_multiset.hpp"
#include "container/pooled_unordered_set.hpp"
#include "container/vector_tree.hpp"
