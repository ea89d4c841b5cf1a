// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/stack_follower.hpp"

#include <algorithm>
#include <cstring>

#include "lab/trace/fields.hpp"

namespace millpond::trace {

namespace {

std::uint64_t key_of(std::uint32_t parent, std::uint32_t frame) { return std::uint64_t{parent} << 32 | frame; }

}  // namespace

stack_follower::stack_follower() : cut_(number_of(0, 1)) { tables_.reach(0); }

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
        if (one.at == 0 || one.key == key) return one;
    }
}

// A child that no table of its parent has room for.
void stack_follower::enter_beyond(const standing& caller, std::uint32_t frame) {
    location at = further_count_ == 0 ? 0 : slot_for(key_of(caller.at, frame)).at;
    if (at == 0) {
        at = add_beyond(caller.at, frame);
        child_at(at) = new_child(caller.node, frame);
    }
    push(at, child_at(at));
}

// Precondition: the parent has no child of that frame.
stack_follower::location stack_follower::add(location parent, std::uint32_t frame, std::uint32_t node) {
    last_ = std::max(last_, node);
    std::uint32_t number = child_at(parent).table;
    if (number == 0) child_at(parent).table = number = add_table();
    for (unsigned count = 1;; ++count) {
        for (unsigned i = 0; i < children_in_table; ++i) {
            child& one = tables_[number].children[i];
            if (one.frame != 0) continue;
            one = {frame, node, 0};
            return number * children_in_table + i;
        }
        if (count == tables_of_node_max) break;
        if (tables_[number].next == 0) tables_[number].next = add_table();
        number = tables_[number].next;
    }
    const location at = add_beyond(parent, frame);
    child_at(at) = {frame, node, 0};
    return at;
}

stack_follower::location stack_follower::add_beyond(location parent, std::uint32_t frame) {
    if (2 * further_count_ >= further_.size()) {
        std::vector<further_child> old(std::max<std::size_t>(1024, 2 * further_.size()));
        old.swap(further_);
        for (const further_child& one : old)
            if (one.at != 0) slot_for(one.key) = one;
    }
    const std::uint64_t key = key_of(parent, frame);
    ++further_count_;
    const location at = add_table() * children_in_table;
    slot_for(key) = {key, at};
    return at;
}

void stack_follower::learn(const mpt_block_header& header, std::span<const std::uint8_t> payload) {
    constexpr std::uint64_t lost_max = 1u << 22;  // nodes of lost blocks in front of these
    if (header.first == 0 || header.first > last_ + lost_max || header.first + header.count > nodes_max) return;
    auto id = static_cast<std::uint32_t>(header.first);
    learned_.resize(std::max<std::size_t>(learned_.size(), id + std::size_t{header.count}));
    field_cursor cursor(payload);
    try {
        for (const std::uint32_t past = id + header.count; id < past && !cursor.done(); ++id) {
            const std::uint64_t parent = id - static_cast<std::uint64_t>(cursor.signed_number());
            const std::uint32_t module = cursor.small_number();
            const std::uint64_t offset = cursor.number();
            last_ = std::max(last_, id);
            if (parent >= id || learned_[id].frame != 0) continue;
            const std::uint32_t frame = learned_[id].frame = number_of(module, offset);
            if (parent == 0 || learned_[parent].at != 0) learned_[id].at = add(learned_[parent].at, frame, id);
        }
    } catch (const trace_error& cut) {  // what was read holds
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
        to = mpt_put(to, mpt_zigzag(std::int64_t{first} + static_cast<std::int64_t>(i) - std::int64_t{one.parent}));
        const coded_place& its = places_[one.frame];
        std::memcpy(to, its.bytes, sizeof its.bytes);
        to += its.length;
    }
    return {
        first, static_cast<std::uint32_t>(count), {payload_.data(), static_cast<std::size_t>(to - payload_.data())}};
}

}  // namespace millpond::trace
