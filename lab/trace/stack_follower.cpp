// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/stack_follower.hpp"

#include <algorithm>
#include <cstring>

#include "lab/trace/fields.hpp"

namespace millpond::trace {

namespace {

std::uint64_t key_of(std::uint32_t caller, std::uint32_t frame) { return std::uint64_t{caller} << 32 | frame; }

}  // namespace

stack_follower::stack_follower() : cut_(number_of(0, 1)) { nodes_.reach(0); }

std::uint32_t stack_follower::number_of(std::uint32_t module, std::uint64_t offset) {
    const auto [known, is_new] = numbers_.try_emplace({module, offset}, static_cast<std::uint32_t>(places_.size()));
    if (is_new) {
        coded_place& coded = places_.emplace_back();
        std::uint8_t bytes[3 * varint_bytes_max];
        const std::uint8_t* const end = mpt_put(mpt_put(bytes, module), offset);
        coded.length = static_cast<std::uint8_t>(end - bytes);
        std::memcpy(coded.bytes, bytes, sizeof coded.bytes);
    }
    return known->second;
}

stack_follower::further_child& stack_follower::slot_for(std::uint64_t key) {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    for (std::size_t i = mixed ^ (mixed >> 32);; ++i) {
        further_child& one = further_[i & (further_.size() - 1)];
        if (one.node == 0 || one.key == key) return one;
    }
}

void stack_follower::make_room_beyond() {
    if (2 * further_count_ < further_.size()) return;
    std::vector<further_child> old(std::max<std::size_t>(1024, 2 * further_.size()));
    old.swap(further_);
    for (const further_child& one : old)
        if (one.node != 0) slot_for(one.key) = one;
}

// Adds a node that is in no list and no table yet.
std::uint32_t stack_follower::add(std::uint32_t caller, std::uint32_t frame) {
    if (last_ == nodes_max) return 0;
    nodes_.reach(++last_);
    nodes_[last_].frame = frame;
    fresh_.push_back({caller, frame});
    return last_;
}

// Enters a child that is not among the first ones of its caller.
void stack_follower::enter_beyond(std::uint32_t caller, std::uint32_t frame) {
    make_room_beyond();
    further_child& found = slot_for(key_of(caller, frame));
    if (found.node == 0) {
        ++further_count_;
        found = {key_of(caller, frame), add(caller, frame)};
    }
    stack_.push_back(found.node);
}

// Makes a learned node a child of its caller.
void stack_follower::list(std::uint32_t caller, std::uint32_t id) {
    std::uint32_t* link = &nodes_[caller].first_child;
    for (unsigned i = 0; *link != 0; ++i) {
        if (i == listed_max) {
            make_room_beyond();
            further_child& to = slot_for(key_of(caller, nodes_[id].frame));
            further_count_ += to.node == 0;
            to = {key_of(caller, nodes_[id].frame), id};
            return;
        }
        link = &nodes_[*link].next;
    }
    *link = id;
}

void stack_follower::learn(const mpt_block_header& header, std::span<const std::uint8_t> payload) {
    constexpr std::uint64_t lost_max = 1u << 22;  // nodes of lost blocks in front of these
    if (header.first == 0 || header.first > last_ + lost_max || header.first + header.count > nodes_max) return;
    auto id = static_cast<std::uint32_t>(header.first);
    field_cursor cursor(payload);
    try {
        for (const std::uint32_t past = id + header.count; id < past && !cursor.done(); ++id) {
            const std::uint64_t caller = id - static_cast<std::uint64_t>(cursor.signed_number());
            const std::uint32_t module = cursor.small_number();
            const std::uint64_t offset = cursor.number();
            nodes_.reach(id);
            learned_ = last_ = std::max(last_, id);
            if (caller >= id || nodes_[id].frame != 0) continue;
            nodes_[id].frame = number_of(module, offset);
            // If the caller was lost, only the frame is known.
            if (caller == 0 || nodes_[caller].frame != 0) list(static_cast<std::uint32_t>(caller), id);
        }
    } catch (const trace_error& cut) {  // the nodes read so far stay valid
    }
}

stack_follower::new_nodes stack_follower::take_new() {
    constexpr std::size_t at_once = 8192, node_bytes_max = varint_bytes_max + sizeof(coded_place::bytes);
    if (taken_ == fresh_.size()) {
        taken_ = 0;
        fresh_.clear();
        return {};
    }
    const std::size_t count = std::min(fresh_.size() - taken_, at_once);
    const auto first = static_cast<std::uint32_t>(last_ + 1 - (fresh_.size() - taken_));
    payload_.resize(at_once * node_bytes_max);
    std::uint8_t* to = payload_.data();
    for (std::size_t i = 0; i < count; ++i, ++taken_) {
        const fresh_node& one = fresh_[taken_];
        to = mpt_put(to, mpt_zigzag(std::int64_t{first} + static_cast<std::int64_t>(i) - std::int64_t{one.caller}));
        const coded_place& its = places_[one.frame];
        std::memcpy(to, its.bytes, sizeof its.bytes);
        to += its.length;
    }
    return {
        first, static_cast<std::uint32_t>(count), {payload_.data(), static_cast<std::size_t>(to - payload_.data())}};
}

}  // namespace millpond::trace
