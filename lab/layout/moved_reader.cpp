// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/moved_reader.hpp"

#include <algorithm>

#include "lab/layout/call_script.h"
#include "lab/layout/thread_blocks.hpp"

namespace millpond::layout {

namespace {

constexpr std::uint64_t page_bytes = 4096, left_out = 0;

// A program that is not relocated has no bias, and lies at the beginning of a huge page.
std::uint64_t beginning_of(const trace::module_record& module) {
    constexpr std::uint64_t huge_page_bytes = 2 << 20;
    return module.bias != 0 ? module.bias : module.first / huge_page_bytes * huge_page_bytes;
}

}  // namespace

moved_reader::moved_reader(const std::string& recording, const std::string& played,
                           const references::reader_options& options)
    : recorded_(recording, options),
      played_(played, {.with_system = false}),
      recorded_path_(recording),
      played_path_(played),
      recorded_regions_(region_map::of_recording(recording, recorded_.trace())),
      played_regions_(region_map::of_recording(played, played_.trace())) {
    find_shifts();
}

void moved_reader::refuse(const std::string& why) const {
    throw trace::trace_error(played_path_ + " was not played from " + recorded_path_ + ": " + why +
                             "; play its calls again");
}

// From the program's memory of a kind to the player's.
std::uint64_t moved_reader::shift_of(memory_kind kind) const {
    const memory_region& own = recorded_regions_.first_of(kind);
    const memory_region& others = played_regions_.first_of(kind);
    if (own.kind == memory_kind::unknown || others.kind == memory_kind::unknown) return apart;
    return others.first - own.first;
}

void moved_reader::find_shifts() {
    const trace::process_record& own = recorded_.trace().process();
    const trace::process_record& others = played_.trace().process();
    assembly_.emplace(recorded_regions_.has_main());
    has_own_start_ = is_starting_ =
        own.executable == others.executable && own.build_id == others.build_id && recorded_regions_.has_main();
    break_shift_ = shift_of(memory_kind::program_break);
    variables_shift_ = shift_of(memory_kind::variables);
    find_variables();
    for (const trace::module_record& module : recorded_.trace().modules()) {
        const auto& candidates = played_.trace().modules();
        const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const trace::module_record& each) {
            return each.path == module.path && each.build_id == module.build_id;
        });
        modules_.push_back({beginning_of(module), same != candidates.end() ? same->bias - module.bias : apart});
    }
    std::sort(modules_.begin(), modules_.end(),
              [](const module_shift& a, const module_shift& b) { return a.first < b.first; });
}

void moved_reader::find_variables() {
    const std::uint64_t pointer = recorded_regions_.first_of(memory_kind::variables).first + mpt_variables_before;
    const auto others = thread_blocks_of(played_.trace().modules(), played_.trace().process().executable);
    for (const thread_block& own :
         thread_blocks_of(recorded_.trace().modules(), recorded_.trace().process().executable)) {
        const auto same = std::find_if(others.begin(), others.end(), [&](const thread_block& each) {
            return each.path == own.path && each.build_id == own.build_id;
        });
        if (same != others.end())
            variables_.push_back({pointer - own.below, own.bytes, variables_shift_ + own.below - same->below});
    }
}

// ---- the program ----

std::uint64_t moved_reader::moved(std::uint64_t address) {
    const object_map::found at = objects_.find(address);
    if (at.id != object_map::none) {
        ++totals_.moved;
        return address - objects_.object(at.id).address + moved_to_[at.id];
    }
    const memory_region& region = recorded_regions_.at(address);
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

std::uint64_t moved_reader::moved_with_stack(std::uint64_t address, const memory_region& stack) {
    if (latest_shift_.first != stack.first) {
        const auto known = stack_shifts_.find(stack.first);
        latest_shift_ = {stack.first, known == stack_shifts_.end() ? apart : known->second};
    }
    return address + latest_shift_.second;
}

// The stack of a thread is that of the player's thread, but for the first: its place depends on the environment alone.
void moved_reader::pair_stacks() {
    const memory_region& own = program_frame_.stack;
    const bool is_first = own.first == recorded_regions_.last_of(memory_kind::stack).first ||
                          player_frame_.stack.first == played_regions_.last_of(memory_kind::stack).first;
    if (own.kind != memory_kind::stack || player_frame_.stack.kind != memory_kind::stack || is_first) return;
    stack_shifts_[own.first] = player_frame_.stack.last - own.last;
    latest_shift_ = {1, 0};
}

std::uint64_t moved_reader::moved_with_module(std::uint64_t address) const {
    const auto above = std::upper_bound(modules_.begin(), modules_.end(), address,
                                        [](std::uint64_t at, const module_shift& each) { return at < each.first; });
    return address + (above == modules_.begin() ? apart : std::prev(above)->shift);
}

std::uint64_t moved_reader::moved_with_variables(std::uint64_t address) const {
    for (const variables_shift& each : variables_)
        if (address - each.first < each.bytes) return address + each.shift;
    return address + variables_shift_;
}

std::uint64_t moved_reader::moved_beside(std::uint64_t address) {
    const std::uint32_t near = objects_.near(address, beside_bytes);
    if (near != object_map::none) {
        ++totals_.moved;
        ++totals_.beside;
        return address - objects_.object(near).address + moved_to_[near];
    }
    if (objects_.page_of(address) != nullptr) {
        ++totals_.left_out;
        return left_out;
    }
    if (start_pages_.contains(address / page_bytes)) return moved_with_module(address);
    ++totals_.unplaced;
    return address + (recorded_regions_.find(address) == memory_kind::program_break ? break_shift_ : apart);
}

void moved_reader::note_frame(frame& of, region_map& regions, const references::step& in) {
    for (auto r = in.references.rbegin(); r != in.references.rend(); ++r) {
        if (r->origin != millpond_of_program) continue;
        const memory_region& region = regions.at(r->address);
        if (region.kind != memory_kind::stack) continue;
        of = {r->address, region};
        return;
    }
}

void moved_reader::note_start(const references::step& from) {
    for (const millpond_reference& each : from.references)
        if (recorded_regions_.find(each.address) == memory_kind::unknown)
            start_pages_.insert(each.address / page_bytes);
}

void moved_reader::move_program(references::step& to, const references::step& from) {
    batch_.clear();
    for (millpond_reference each : from.references) {
        each.address = moved(each.address);
        if (each.address != left_out) batch_.push_back(each);
    }
    to.references = batch_;
    to.instructions = from.instructions;
}

std::uint64_t moved_reader::end_object(std::uint64_t address) {
    const std::uint32_t id = objects_.beginning_at(address);
    if (id == object_map::none) return 0;
    objects_.end(id);
    return moved_to_[id];
}

void moved_reader::begin_object(std::uint64_t address, std::uint64_t bytes, std::uint64_t moved) {
    // An object that is still there was freed in a part that is missing.
    for (std::uint32_t old; (old = objects_.overlapping(address, bytes)) != object_map::none;) objects_.end(old);
    objects_.begin({address, bytes, 0});
    const std::uint32_t id = objects_.beginning_at(address);
    if (id >= moved_to_.size()) moved_to_.resize(2 * std::size_t{id} + 16);
    moved_to_[id] = moved;
}

bool moved_reader::next_of_program(references::step& to) {
    if (!has_recorded_step_) {
        if (is_at_end_) return next_of_end(to);
        if (!recorded_.next(recorded_step_)) {
            is_at_end_ = true;
            const auto last = assembly_->ended_at_last();
            if (last) begin_call(*last);
            return true;
        }
        has_recorded_step_ = true;
        if (const auto call = assembly_->ended_before(recorded_step_)) {
            begin_call(*call);
            return true;  // the step stays for later
        }
    }
    has_recorded_step_ = false;
    to.thread = recorded_step_.thread;
    if (!recorded_step_.in_allocator) {
        note_frame(program_frames_[recorded_step_.thread], recorded_regions_, recorded_step_);
        if (is_starting_)
            note_start(recorded_step_);
        else
            move_program(to, recorded_step_);
    }
    if (begins_main(recorded_step_.event)) is_starting_ = false;
    switch (recorded_step_.event.record) {
        case millpond_record_enter:
        case millpond_record_leave:
        case millpond_record_free:
        case millpond_record_allocate:
            break;  // they come with the call
        default:
            to.event = recorded_step_.event;
            break;
    }
    if (const auto call = assembly_->ended_by(recorded_step_, [this](std::uint64_t a) { return end_object(a); }))
        begin_call(*call);
    return true;
}

// ---- the start ----

// What the player's process did before the player began: the program's start on the other allocator. Of another
// program's start only the allocator's own part counts.
bool moved_reader::next_of_start(references::step& to) {
    if (!played_.next(played_step_)) refuse("it has no calls");
    const references::step& s = played_step_;
    to.thread = s.thread;
    to.in_allocator = s.in_allocator;
    if (!s.in_allocator) note_frame(player_frames_[s.thread], played_regions_, s);
    if (is_starting_ || s.in_allocator) {
        batch_.assign(s.references.begin(), s.references.end());
        for (millpond_reference& each : batch_) each.address = placed_at_start(each.address);
        to.references = batch_;
        to.instructions = s.instructions;
    }
    if (s.event.record == millpond_record_allocate && has_own_start_)
        early_blocks_.push_back({s.event.operands[0], s.event.operands[1]});
    if (begins_main(s.event)) place_ = place::program;
    return true;
}

bool moved_reader::begins_main(const references::stream_event& event) {
    return event.record == millpond_record_gap && event.operands[0] == 0;
}

bool moved_reader::is_mark(const references::stream_event& event) {
    return event.record == millpond_record_enter &&
           millpond_entry_function(event.operands[0]) == millpond_function_millpond_played_call;
}

std::uint64_t moved_reader::placed_at_start(std::uint64_t address) {
    if (played_regions_.find(address) != memory_kind::stack) return address;
    return address - played_regions_.at(address).last + recorded_regions_.last_of(memory_kind::stack).last + apart;
}

// ---- the allocator ----

// As the recording numbers it.
std::uint64_t moved_reader::thread_of(const allocator_call& call) { return call.thread >> 32; }

// The player does the same (early_block).
void moved_reader::take_early(const allocator_call& call) {
    if (!call.allocates) return;
    for (std::size_t i = next_early_; i < early_blocks_.size(); ++i) {
        if (early_blocks_[i].bytes != call.bytes) continue;
        next_early_ = i + 1;
        return begin_object(call.address, call.bytes, early_blocks_[i].address);
    }
}

void moved_reader::begin_call(const allocator_call& call) {
    if (!millpond_is_played(call.function(), call.allocates)) return;
    if (call.is_early && has_own_start_) return take_early(call);
    call_ = call;
    place_ = place::begin;
}

// A step towards the entry of the next call that the player has marked.
bool moved_reader::next_sought(references::step& to) {
    if (!played_.next(played_step_)) refuse("it has only " + std::to_string(totals_.calls - 1) + " calls");
    const references::step& s = played_step_;
    if (ending_threads_.contains(s.thread)) {
        take_ending(to, s);
        return true;
    }
    if (!s.in_allocator) note_frame(player_frames_[s.thread], played_regions_, s);
    note_ending(s.event, s.thread);
    const bool is_entry = s.event.record == millpond_record_enter && !is_mark(s.event);
    if (is_marked_ && is_entry && s.thread == played_thread_) {
        player_frame_ = player_frames_[s.thread];
        player_frame_.pointer = millpond_entry_pointer(s.event.operands[0], player_frame_.pointer);
        is_marked_ = false;
        pair_stacks();
        place_ = place::enter;
    }
    return true;
}

// Behind the last call the ends of threads may follow.
bool moved_reader::next_of_end(references::step& to) {
    if (is_drained_ || !played_.next(played_step_)) {
        is_drained_ = true;
        return false;
    }
    note_ending(played_step_.event, played_step_.thread);
    if (ending_threads_.contains(played_step_.thread)) take_ending(to, played_step_);
    return true;
}

// Two marks in a row: the thread ends.
void moved_reader::note_ending(const references::stream_event& event, std::uint64_t thread) {
    if (!is_mark(event)) return;
    if (is_marked_) ending_threads_.insert(thread);
    is_marked_ = !is_marked_;
    played_thread_ = thread;
}

// What a thread of the player does at its end is the allocator's, but for some of the C library's.
void moved_reader::take_ending(references::step& to, const references::step& from) {
    batch_.assign(from.references.begin(), from.references.end());
    for (millpond_reference& each : batch_) {
        each.origin = millpond_of_allocator;
        each.address = placed(each.address);
    }
    to.references = batch_;
    to.instructions = from.instructions;
    to.in_allocator = true;
    totals_.allocator_references += batch_.size();
    totals_.allocator_instructions += from.instructions;
    if (from.event.record == millpond_record_signal && from.event.operands[0] == 0) ending_threads_.erase(from.thread);
}

// Where what the other allocator accesses lies in the program: only its frames move.
std::uint64_t moved_reader::placed(std::uint64_t address) {
    const memory_region& region = played_regions_.at(address);
    if (region.kind != memory_kind::stack || region.first != player_frame_.stack.first || program_frame_.pointer == 0)
        return address;
    // Above the frames of the call lie the thread's own variables, at the end of its stack.
    const std::uint64_t own = address < player_frame_.pointer + sizeof(std::uint64_t)
                                  ? address - player_frame_.pointer + program_frame_.pointer
                                  : address - region.last + program_frame_.stack.last;
    return moved_with_stack(own, program_frame_.stack);
}

void moved_reader::take_played(references::step& to, const references::step& from) {
    batch_.clear();
    for (const millpond_reference& each : from.references) {
        if (each.origin != millpond_of_allocator) continue;
        batch_.push_back(each);
        batch_.back().address = placed(each.address);
    }
    to.references = batch_;
    to.instructions = from.instructions;
    totals_.allocator_references += batch_.size();
    totals_.allocator_instructions += from.instructions;
}

bool moved_reader::next_inside(references::step& to) {
    if (!played_.next(played_step_)) refuse("it ends within a call");
    if (played_step_.thread != played_thread_ || !played_step_.in_allocator) return true;
    take_played(to, played_step_);
    to.in_allocator = true;
    if (played_step_.event.record != millpond_record_leave) return true;
    to.event.record = millpond_record_leave;
    place_ = place::late_free;
    return true;
}

// What the call that has just ended gave.
std::uint64_t moved_reader::played_address() {
    while (played_.next(played_step_)) {
        const references::step& s = played_step_;
        if (!s.references.empty() || s.thread != played_thread_) break;
        if (s.event.record == millpond_record_none || s.event.record == millpond_record_free) continue;
        if (s.event.record != millpond_record_allocate) break;
        if (s.event.operands[1] != std::max<std::uint64_t>(call_.bytes, call_.frees ? 1 : 0) &&
            s.event.operands[1] != call_.bytes)
            refuse("call " + std::to_string(totals_.calls) + " is of " + std::to_string(call_.bytes) + " bytes, not " +
                   std::to_string(s.event.operands[1]));
        const std::uint64_t address = s.event.operands[0];
        return placed(address);
    }
    refuse("call " + std::to_string(totals_.calls) + " gave nothing there");
}

bool moved_reader::next_of_call(references::step& to) {
    to.thread = thread_of(call_);
    const bool frees_known = call_.frees && call_.freed != 0;
    switch (place_) {
        case place::begin:
            ++totals_.calls;
            program_frame_ = program_frames_[thread_of(call_)];
            program_frame_.pointer = millpond_entry_pointer(call_.entry, program_frame_.pointer);
            place_ = place::seek;
            return true;
        case place::seek:
            return next_sought(to);
        case place::enter:
            to.event.record = millpond_record_enter;
            to.event.operands[0] = call_.entry;
            place_ = frees_known && !call_.frees_by_realloc ? place::early_free : place::inside;
            return true;
        case place::early_free:
            to.in_allocator = true;
            to.event.record = millpond_record_free;
            to.event.operands[0] = call_.freed;
            place_ = place::inside;
            return true;
        case place::inside:
            return next_inside(to);
        case place::late_free:
            place_ = place::allocate;
            if (!frees_known || !call_.frees_by_realloc) return true;
            to.event.record = millpond_record_free;
            to.event.operands[0] = call_.freed;
            to.event.operands[1] = call_.allocates ? millpond_flag_realloc : 0;
            return true;
        default:
            place_ = place::program;
            if (!call_.allocates) return true;
            const std::uint64_t address = played_address();
            begin_object(call_.address, call_.bytes, address);
            to.event.record = millpond_record_allocate;
            to.event.operands[0] = address;
            to.event.operands[1] = call_.bytes;
            to.event.operands[2] = call_.context;
            to.event.operands[3] = call_.flags;
            return true;
    }
}

bool moved_reader::next(references::step& to) {
    to = {};
    if (place_ == place::start) return next_of_start(to);
    return place_ == place::program ? next_of_program(to) : next_of_call(to);
}

}  // namespace millpond::layout
