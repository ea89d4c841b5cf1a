// SPDX-License-Identifier: BSL-1.0
// stack_follower: the contexts of events that tell only what changed of the stack since the event before.
//
//   recorder: 2 returned, 3 entered │ 0 returned, 1 entered │ …       frames are named by nodes without a caller
//                    ▼
//   stack   main ── parse ── sum ── term        ──▶ node of the tree of contexts, made where it is new
//             │        └ children │ frame, node, its own children │ frame, node, its own children │ more ─▶
//
// Use it in the finishing pass: a recorder that had to look each stack up in a tree of millions of nodes would wait for
// memory at every event. It begins with the contexts that the recorder wrote (learn), in the order of their numbers;
// new nodes get the numbers behind these and are taken by take_new(). A frame that is not known (its block was lost)
// becomes a cut. O(1) a frame. What is kept of a node lies with its caller, which was looked up just before. Memory: 32
// bytes for each node with children and for every second further child, 16 to 32 more for each beyond the eighth.
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

    // Takes the nodes of a block of contexts, recorder's or finished. Damaged ones end it.
    void learn(const mpt_block_header& header, std::span<const std::uint8_t> payload);

    // A block of events begins: no frame is known to stand.
    void begin_block() {
        stack_.resize(1);
        stack_[0] = {0, 0, tables_[0].children[0].table};
    }
    void leave(std::uint64_t frames) {
        const std::size_t depth = stack_.size() - 1;
        stack_.resize(1 + (frames < depth ? depth - static_cast<std::size_t>(frames) : 0));
    }
    // `frame`: the number of its node without a caller.
    void enter(std::uint64_t frame) {
        const std::uint32_t number = frame_of(frame);
        standing& caller = stack_.back();
        if (caller.table == 0) caller.table = child_at(caller.at).table = add_table();
        std::uint32_t table = caller.table;
        for (unsigned tables = 1;; ++tables) {
            for (unsigned i = 0; i < children_in_table; ++i) {
                child& one = tables_[table].children[i];
                if (one.frame != number && one.frame != 0) continue;
                if (one.frame == 0) one = new_child(caller.node, number);
                return push(table * children_in_table + i, one);
            }
            if (tables == tables_of_node_max) break;
            if (tables_[table].next == 0) tables_[table].next = add_table();
            table = tables_[table].next;
        }
        enter_beyond(caller, number);
    }
    // Of the stack as it stands.
    std::uint32_t context() const { return stack_.back().node; }

    // The highest number of a node.
    std::uint32_t last() const { return last_; }
    // The payload of a block of contexts with the next new nodes, and their first number and count: count 0 where there
    // are none. Valid until the next call of any function.
    struct new_nodes {
        std::uint32_t first, count;
        std::span<const std::uint8_t> payload;
    };
    new_nodes take_new();

  private:
    static constexpr unsigned children_in_table = 2;
    static constexpr unsigned tables_of_node_max = 4;  // further children are found by a hash
    static constexpr std::uint32_t nodes_max = 1u << 28;

    struct child {
        std::uint32_t frame;  // 0: none
        std::uint32_t node;
        std::uint32_t table;  // its first own children; 0: none
    };
    struct child_table {
        child children[children_in_table];
        std::uint32_t next;  // 0: none
        std::uint32_t unused;
    };
    static_assert(sizeof(child_table) == 32);
    // Where a node is kept: table and place in it. 0 is the outside.
    using location = std::uint32_t;

    // A frame of the stack; the rest is what is kept there.
    struct standing {
        location at;
        std::uint32_t node;
        std::uint32_t table;
    };
    // What a frame is in the trace. They are numbered from 1 on.
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
        std::uint64_t key;  // location of the parent, frame
        location at;        // 0: free
    };
    struct fresh_node {
        std::uint32_t parent, frame;
    };
    // Of the recorder: only its nodes can be frames, or parents of what is learned.
    struct learned_node {
        std::uint32_t frame;
        location at;  // 0: the way to the outside is not known
    };

    child& child_at(location at) { return tables_[at / children_in_table].children[at % children_in_table]; }
    const child& child_at(location at) const {
        return tables_[at / children_in_table].children[at % children_in_table];
    }
    std::uint32_t frame_of(std::uint64_t node) const {
        const std::uint32_t frame = node < learned_.size() ? learned_[node].frame : 0;
        return frame != 0 ? frame : cut_;
    }
    // The children of a node are looked at soon, and lie anywhere.
    void push(location at, const child& one) {
        __builtin_prefetch(&tables_[one.table]);
        stack_.push_back({at, one.node, one.table});
    }
    child new_child(std::uint32_t parent, std::uint32_t frame) {
        if (last_ == nodes_max) [[unlikely]]
            return {frame, 0, 0};
        fresh_.push_back({parent, frame});
        return {frame, ++last_, 0};
    }
    void enter_beyond(const standing& caller, std::uint32_t frame);
    location add(location parent, std::uint32_t frame, std::uint32_t node);
    location add_beyond(location parent, std::uint32_t frame);
    std::uint32_t add_table() {
        tables_.reach(table_count_);
        return table_count_++;
    }
    std::uint32_t number_of(std::uint32_t module, std::uint64_t offset);
    further_child& slot_for(std::uint64_t key);

    huge_page_array<child_table> tables_;  // 0: that of the outside itself, which is no one's child
    std::uint32_t table_count_ = 1;
    std::vector<learned_node> learned_{1};
    std::vector<fresh_node> fresh_;  // the last nodes, which nobody has taken
    std::size_t taken_ = 0;          // of these
    std::vector<coded_place> places_{1};
    std::unordered_map<place, std::uint32_t, place_hash> numbers_;
    std::uint32_t cut_;
    std::vector<further_child> further_;
    std::size_t further_count_ = 0;
    std::uint32_t last_ = 0;
    std::vector<standing> stack_{1};  // from the outside inward
    std::vector<std::uint8_t> payload_;
};

}  // namespace millpond::trace
