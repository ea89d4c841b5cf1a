// SPDX-License-Identifier: BSL-1.0
// stack_follower: finds the contexts of events that record only the changes of the stack since the event before.
//
//   recorder: 2 returned, 3 entered │ 0 returned, 1 entered │ …       frames are named by nodes without a caller
//                    ▼
//   stack   main ── parse ── sum ── term        ──▶ node of the tree of contexts, made if it is new
//
//   node │ frame │ first child │ next child of its caller │       12 bytes, by number
//   (caller, frame) → node                                        a hash table for children beyond the eighth
//
// Use it in the finishing pass: a recorder that had to look each stack up in a tree of millions of nodes would wait for
// memory at every event. It begins with the contexts that the recorder wrote (learn), in the order of their numbers;
// new nodes get the following numbers, and take_new() returns them. An unknown frame (its block was lost) becomes a
// cut. O(1) a frame. Memory: 12 bytes a node, up to 64 more for each child beyond the eighth.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab/trace/format.h"
#include "lab/trace/huge_page_array.hpp"

namespace millpond::trace {

class stack_follower {
  public:
    stack_follower();

    // Takes the nodes of a block of contexts, from the recorder or finished. Stops at damaged ones.
    void learn(const mpt_block_header& header, std::span<const std::uint8_t> payload);

    // Begins a block of events, with an empty stack.
    void begin_block() { stack_.assign(1, 0); }
    void leave(std::uint64_t frames) {
        const std::size_t depth = stack_.size() - 1;
        stack_.resize(1 + (frames < depth ? depth - static_cast<std::size_t>(frames) : 0));
    }
    // `named`: the frame's node without a caller.
    void enter(std::uint64_t named) {
        const std::uint32_t frame = frame_of(named), caller = stack_.back();
        std::uint32_t* link = &nodes_[caller].first_child;
        for (unsigned i = 0; *link != 0; ++i) {
            node& one = nodes_[*link];
            if (one.frame == frame) return stack_.push_back(*link);
            if (i == listed_max) return enter_beyond(caller, frame);
            link = &one.next;
        }
        const std::uint32_t fresh = add(caller, frame);
        *link = fresh;
        stack_.push_back(fresh);
    }
    // The context of the present stack.
    std::uint32_t context() const { return stack_.back(); }

    // The highest node number.
    std::uint32_t last() const { return last_; }
    // The payload of a block of contexts with the next new nodes, and their first number and count: count 0 if there
    // are no new nodes. Valid until the next call of any function.
    struct new_nodes {
        std::uint32_t first, count;
        std::span<const std::uint8_t> payload;
    };
    new_nodes take_new();

  private:
    static constexpr unsigned listed_max = 7;  // children before the last listed one
    static constexpr std::uint32_t nodes_max = 1u << 28;

    struct node {
        std::uint32_t frame;  // 0: not known
        std::uint32_t first_child;
        std::uint32_t next;
    };
    // A frame's place in a module. Places are numbered from 1 on.
    struct place {
        std::uint32_t module;
        std::uint64_t offset;

        bool operator==(const place&) const = default;
    };
    struct place_hash {
        std::size_t operator()(const place& p) const {
            return (p.offset ^ std::uint64_t{p.module} << 40) * 0x9E3779B97F4A7C15u;
        }
    };
    struct coded_place {
        std::uint8_t bytes[15];  // as in a block of contexts
        std::uint8_t length;
    };
    struct further_child {
        std::uint64_t key;   // caller, frame
        std::uint32_t node;  // 0: free
    };
    struct fresh_node {
        std::uint32_t caller, frame;
    };

    // Only the recorder's nodes name frames.
    std::uint32_t frame_of(std::uint64_t named) const {
        const std::uint32_t frame = named <= learned_ ? nodes_[named].frame : 0;
        return frame != 0 ? frame : cut_;
    }
    std::uint32_t add(std::uint32_t caller, std::uint32_t frame);
    void enter_beyond(std::uint32_t caller, std::uint32_t frame);
    void list(std::uint32_t caller, std::uint32_t id);
    void make_room_beyond();
    std::uint32_t number_of(std::uint32_t module, std::uint64_t offset);
    further_child& slot_for(std::uint64_t key);

    huge_page_array<node> nodes_;
    std::uint32_t last_ = 0, learned_ = 0;
    std::vector<fresh_node> fresh_;  // the latest nodes, not taken yet
    std::size_t taken_ = 0;          // number of fresh_ already taken
    std::vector<coded_place> places_{1};
    std::unordered_map<place, std::uint32_t, place_hash> numbers_;
    std::uint32_t cut_;
    std::vector<further_child> further_;
    std::size_t further_count_ = 0;
    std::vector<std::uint32_t> stack_{0};  // from the outermost inward
    std::vector<std::uint8_t> payload_;
};

}  // namespace millpond::trace
