// SPDX-License-Identifier: BSL-1.0
// wrap: what composes over any allocator: checks, counts, a limit, a lock.
#pragma once

#include "wrap/allocator_nature.hpp"
#include "wrap/block_ledger.hpp"
#include "wrap/block_record.hpp"
#include "wrap/block_report.hpp"
#include "wrap/block_table.hpp"
#include "wrap/call_site.hpp"
#include "wrap/checked.hpp"
#include "wrap/checkpoint_history.hpp"
#include "wrap/checkpoint_of.hpp"
#include "wrap/counted.hpp"
#include "wrap/guarded_block.hpp"
#include "wrap/in_mode.hpp"
#include "wrap/limited.hpp"
#include "wrap/misuse.hpp"
#include "wrap/registered_table.hpp"
#include "wrap/size_histogram.hpp"
#include "wrap/synchronized.hpp"
#include "wrap/winking_scope.hpp"
