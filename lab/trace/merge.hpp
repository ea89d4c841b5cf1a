// SPDX-License-Identifier: BSL-1.0
// merge: every event of a trace in one order by time, each stream's own order kept.
//
//   stream 1 │ block ▸window│ ─┐
//   stream 2 │ block ▸window│ ─┼─▶ heap of next times ─▶ batches
//   stream 3 │ not begun    │ ─┘   (a stretch of one stream goes out as it lies in its window)
//
// Events of equal time go by stream number. Memory: one decoded payload and one window of events for each stream that
// has begun and not ended; a block is read when its first time is due. O(log streams) a stretch. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/trace/block_file.hpp"
#include "lab/trace/event_decoder.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

using event_sink = std::function<void(const event*, std::size_t)>;

// `blocks`: the events blocks of each stream, in the stream's order. Contexts from `contexts` on are unknown.
void merge_streams(block_file& file, const std::vector<std::vector<block_record>>& streams, std::uint64_t contexts,
                   damage_list& damages, const event_sink& sink);

}  // namespace millpond::trace
