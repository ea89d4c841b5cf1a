// SPDX-License-Identifier: BSL-1.0
// row_decoder: decodes the events of a recorder's block as they were written, steps included.
//
//   rows ─▶ event, and its context: the number of a node, or a stack of frames (frame_paths) where steps tell it
//
// Use it on blocks of FILE.partial whose events are written again; column_splitter, which is faster, loses the steps.
// Unknown bytes end a block. O(1) an event. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab/trace/format.h"
#include "lab/trace/reader.hpp"

namespace millpond::trace {

// Stacks of frames as a tree; a path is the number of its innermost frame's node, 0 the empty stack. A frame is the
// number of its node without a caller. Memory: some 60 bytes for each different path.
class frame_paths {
  public:
    std::uint32_t enter(std::uint32_t caller, std::uint64_t frame);
    // Returns the frames of a path, outermost first.
    std::vector<std::uint64_t> frames(std::uint32_t path) const;

  private:
    struct node {
        std::uint32_t caller;
        std::uint64_t frame;

        bool operator==(const node&) const = default;
    };
    struct node_hash {
        std::size_t operator()(const node& n) const { return (n.frame << 32 ^ n.caller) * 0x9E3779B97F4A7C15u >> 16; }
    };
    std::vector<node> nodes_{{0, 0}};
    std::unordered_map<node, std::uint32_t, node_hash> numbers_;
};

// `path`: where steps tell the context; then event::context is 0. 0: event::context is the context.
struct row_event {
    event what;
    std::uint32_t path;
};

// Calls visit(const row_event&) for each event.
void decode_rows(const mpt_block_header& header, std::span<const std::uint8_t> rows, frame_paths& paths,
                 const std::function<void(const row_event&)>& visit);

}  // namespace millpond::trace
