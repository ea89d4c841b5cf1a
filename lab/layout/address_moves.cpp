// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/address_moves.hpp"

#include <algorithm>

#include "lab/layout/thread_blocks.hpp"
#include "lab/program/model_page.hpp"

namespace millpond::layout {

namespace {

constexpr std::uint64_t page_bytes = program::model_page_bytes;

// A program that is not relocated has no bias, and begins at the start of a huge page.
std::uint64_t beginning_of(const trace::module_record& module) {
    constexpr std::uint64_t huge_page_bytes = 2 << 20;
    return module.bias != 0 ? module.bias : module.first / huge_page_bytes * huge_page_bytes;
}

// Returns the entry of the same file; null if not found.
template <class Part>
const Part* same_file(const std::vector<Part>& parts, const std::string& path, const std::string& build_id) {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const Part& each) { return each.path == path && each.build_id == build_id; });
    return found == parts.end() ? nullptr : &*found;
}

}  // namespace

// Returns the distance from the program's memory of a kind to the player's.
std::uint64_t address_moves::shift_of(memory_kind kind) const {
    const memory_region& own = recorded_regions_->first_of(kind);
    const memory_region& others = played_regions_->first_of(kind);
    if (own.kind == memory_kind::unknown || others.kind == memory_kind::unknown) return apart;
    return others.first - own.first;
}

address_moves::address_moves(const trace::reader& recorded, region_map& recorded_regions, const trace::reader& played,
                             region_map& played_regions)
    : recorded_regions_(&recorded_regions), played_regions_(&played_regions) {
    break_shift_ = shift_of(memory_kind::program_break);
    variables_shift_ = shift_of(memory_kind::variables);
    find_variables(recorded, played);
    for (const trace::module_record& module : recorded.modules()) {
        const trace::module_record* const same = same_file(played.modules(), module.path, module.build_id);
        modules_.push_back({beginning_of(module), same != nullptr ? same->bias - module.bias : apart, false});
    }
    std::sort(modules_.begin(), modules_.end(),
              [](const module_shift& a, const module_shift& b) { return a.first < b.first; });
}

void address_moves::find_variables(const trace::reader& recorded, const trace::reader& played) {
    const std::uint64_t pointer = recorded_regions_->first_of(memory_kind::variables).first + mpt_variables_before;
    const auto others = thread_blocks_of(played.modules(), played.process().executable);
    for (const thread_block& own : thread_blocks_of(recorded.modules(), recorded.process().executable)) {
        if (const thread_block* const same = same_file(others, own.path, own.build_id))
            variables_.push_back({pointer - own.below, own.bytes, variables_shift_ + own.below - same->below});
    }
}

std::uint64_t address_moves::moved(std::uint64_t address) {
    const object_map::found at = objects_.find(address);
    if (at.id != object_map::none) {
        ++counts_.moved;
        return address - objects_.object(at.id).address + moved_to_[at.id];
    }
    const memory_region& region = recorded_regions_->at(address);
    switch (region.kind) {
        case memory_kind::stack:
            return moved_with_stack(address, region);
        case memory_kind::global:
            return moved_with_module(address);
        case memory_kind::variables:
            return moved_with_variables(address);
        default:
            return moved_beside(address);
    }
}

std::uint64_t address_moves::moved_with_stack(std::uint64_t address, const memory_region& stack) {
    if (latest_shift_.first != stack.first) {
        const auto known = stack_shifts_.find(stack.first);
        latest_shift_ = {stack.first, known == stack_shifts_.end() ? apart : known->second};
    }
    return address + latest_shift_.second;
}

// Pairs a thread's stack with that of the player's thread. The main thread's stack is not moved: only the environment
// decides where it lies.
void address_moves::pair_stacks(const memory_region& own, const memory_region& players) {
    const bool is_first = own.first == recorded_regions_->last_of(memory_kind::stack).first ||
                          players.first == played_regions_->last_of(memory_kind::stack).first;
    if (own.kind != memory_kind::stack || players.kind != memory_kind::stack || is_first) return;
    stack_shifts_[own.first] = players.last - own.last;
    latest_shift_ = {1, 0};
}

// Returns the module with the largest start at or below the address; null if not found.
address_moves::module_shift* address_moves::module_of(std::uint64_t address) {
    const auto above = std::upper_bound(modules_.begin(), modules_.end(), address,
                                        [](std::uint64_t at, const module_shift& each) { return at < each.first; });
    return above == modules_.begin() ? nullptr : &*std::prev(above);
}

std::uint64_t address_moves::moved_with_module(std::uint64_t address) {
    const module_shift* const module = module_of(address);
    if (module == nullptr) return address + apart;
    if (!module->is_allocators) return address + module->shift;
    ++counts_.left_out;
    return left_out;
}

std::uint64_t address_moves::moved_with_variables(std::uint64_t address) const {
    for (const variables_shift& each : variables_)
        if (address - each.first < each.bytes) return address + each.shift;
    return address + variables_shift_;
}

std::uint64_t address_moves::moved_beside(std::uint64_t address) {
    const std::uint32_t near = objects_.near(address, beside_bytes);
    if (near != object_map::none) {
        ++counts_.moved;
        ++counts_.beside;
        return address - objects_.object(near).address + moved_to_[near];
    }
    if (objects_.page_of(address) != nullptr) {
        ++counts_.left_out;
        return left_out;
    }
    if (start_pages_.contains(address / page_bytes)) return moved_with_module(address);
    ++counts_.unplaced;
    return address + (recorded_regions_->find(address) == memory_kind::program_break ? break_shift_ : apart);
}

void address_moves::note_start(std::span<const millpond_reference> from) {
    for (const millpond_reference& each : from) {
        const memory_kind kind = recorded_regions_->find(each.address);
        if (kind == memory_kind::unknown) start_pages_.insert(each.address / page_bytes);
        if (kind != memory_kind::global) continue;
        module_shift* const module = module_of(each.address);
        if (module != nullptr && module->shift == apart) module->is_allocators = true;
    }
}

std::uint64_t address_moves::end_object(std::uint64_t address) {
    const std::uint32_t id = objects_.beginning_at(address);
    if (id == object_map::none) return 0;
    objects_.end(id);
    return moved_to_[id];
}

void address_moves::begin_object(std::uint64_t address, std::uint64_t bytes, std::uint64_t moved) {
    // If an old object is still here, its free was in a missing part of the recording.
    for (std::uint32_t old; (old = objects_.overlapping(address, bytes)) != object_map::none;) objects_.end(old);
    objects_.begin({address, bytes, 0});
    const std::uint32_t id = objects_.beginning_at(address);
    if (id >= moved_to_.size()) moved_to_.resize(2 * std::size_t{id} + 16);
    moved_to_[id] = moved;
}

}  // namespace millpond::layout
