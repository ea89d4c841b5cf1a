// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/moved_reader.hpp"

#include <algorithm>

#include "lab/references/player/call_script.h"
#include "lab/trace/wholeness.hpp"

namespace millpond::layout {

namespace {

// Returns the address of the first reference to a stack; 0 if there is no such reference.
std::uint64_t first_of_stack(const std::string& path, region_map& regions) {
    references::reader all(path, {.with_system = false});
    references::step in;
    while (all.next(in)) {
        for (const millpond_reference& each : in.references)
            if (regions.find(each.address) == memory_kind::stack) return each.address;
    }
    return 0;
}

}  // namespace

moved_reader::moved_reader(const std::string& recording, const std::string& played,
                           const references::reader_options& options)
    : recorded_(recording, options),
      played_(played, {.with_system = false}),
      recorded_path_(recording),
      played_path_(played),
      recorded_regions_(region_map::of_recording(recording, recorded_.trace())),
      played_regions_(region_map::of_recording(played, played_.trace())),
      assembly_(recorded_regions_.has_main()),
      moves_(recorded_.trace(), recorded_regions_, played_.trace(), played_regions_) {
    const trace::process_record& own = recorded_.trace().process();
    const trace::process_record& others = played_.trace().process();
    has_own_start_ = is_starting_ =
        own.executable == others.executable && own.build_id == others.build_id && recorded_regions_.has_main();
    // Both references come from one instruction of the dynamic linker. The ends of the stacks differ with the
    // environments.
    const std::uint64_t programs = is_starting_ ? first_of_stack(recording, recorded_regions_) : 0;
    const std::uint64_t players = is_starting_ ? first_of_stack(played, played_regions_) : 0;
    start_shift_ = address_moves::apart;
    start_shift_ += programs != 0 && players != 0 ? programs - players
                                                  : recorded_regions_.last_of(memory_kind::stack).last -
                                                        played_regions_.last_of(memory_kind::stack).last;
}

void moved_reader::refuse(const std::string& why) const {
    throw trace::trace_error(played_path_ + " was not played from " + recorded_path_ + ": " + why +
                             "; play its calls again");
}

void moved_reader::require_whole_play() const {
    if (!played_.damages().empty())
        throw trace::trace_error(trace::damage_text(played_path_, played_.damages()) + "; play its calls again");
}

// ---- the program ----

void moved_reader::note_frame(frame& of, region_map& regions, const references::step& in) {
    for (auto r = in.references.rbegin(); r != in.references.rend(); ++r) {
        if (r->origin != millpond_of_program) continue;
        const memory_region& region = regions.at(r->address);
        if (region.kind != memory_kind::stack) continue;
        of = {r->address, region};
        return;
    }
}

void moved_reader::move_program(references::step& to, const references::step& from) {
    batch_.clear();
    for (millpond_reference each : from.references) {
        each.address = moves_.moved(each.address);
        if (each.address != address_moves::left_out) batch_.push_back(each);
    }
    to.references = batch_;
    to.instructions = from.instructions;
}

bool moved_reader::next_of_program(references::step& to) {
    if (!has_recorded_step_) {
        if (is_at_end_) return next_of_end(to);
        if (!recorded_.next(recorded_step_)) {
            is_at_end_ = true;
            const auto last = assembly_.ended_at_last();
            if (last) begin_call(*last);
            return true;
        }
        has_recorded_step_ = true;
        if (const auto call = assembly_.ended_before(recorded_step_)) {
            begin_call(*call);
            return true;  // keep the step for later
        }
    }
    has_recorded_step_ = false;
    to.thread = recorded_step_.thread;
    if (!recorded_step_.in_allocator) {
        note_frame(program_frames_[recorded_step_.thread], recorded_regions_, recorded_step_);
        if (is_starting_)
            moves_.note_start(recorded_step_.references);
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
    if (const auto call = assembly_.ended_by(recorded_step_, [this](std::uint64_t a) { return moves_.end_object(a); }))
        begin_call(*call);
    return true;
}

// ---- the start ----

// Takes the steps of the player's process before the player began: the program's start on the other allocator. If the
// player is another program, only the allocator's part counts.
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
    return played_regions_.find(address) == memory_kind::stack ? address + start_shift_ : address;
}

// ---- the allocator ----

// Returns the thread's number in the recording.
std::uint64_t moved_reader::thread_of(const allocator_call& call) { return call.thread >> 32; }

// Numbers the early calls as the player does.
void moved_reader::take_early(const allocator_call& call) {
    if (!call.allocates) return;
    const auto* const found = millpond_find_early(early_blocks_.data(), early_blocks_.size(), call.bytes, &next_early_);
    if (found != nullptr) moves_.begin_object(call.address, call.bytes, found->address);
}

void moved_reader::begin_call(const allocator_call& call) {
    if (!millpond_is_played(call.function(), call.allocates)) return;
    if (call.is_early && has_own_start_) return take_early(call);
    call_ = call;
    place_ = place::begin;
}

// Takes a step towards the entry of the next call that the player has marked.
void moved_reader::next_sought(references::step& to) {
    if (!played_.next(played_step_)) refuse("it has only " + std::to_string(totals_.calls - 1) + " calls");
    const references::step& s = played_step_;
    if (ending_threads_.contains(s.thread)) return take_ending(to, s);
    if (!s.in_allocator) note_frame(player_frames_[s.thread], played_regions_, s);
    note_ending(s.event, s.thread);
    const bool is_entry = s.event.record == millpond_record_enter && !is_mark(s.event);
    if (is_marked_ && is_entry && s.thread == played_thread_) {
        player_frame_ = player_frames_[s.thread];
        player_frame_.pointer = millpond_entry_pointer(s.event.operands[0], player_frame_.pointer);
        is_marked_ = false;
        moves_.pair_stacks(program_frame_.stack, player_frame_.stack);
        place_ = place::enter;
    }
}

// After the last call, threads may still end.
bool moved_reader::next_of_end(references::step& to) {
    if (is_drained_ || !played_.next(played_step_)) {
        is_drained_ = true;
        return false;
    }
    note_ending(played_step_.event, played_step_.thread);
    if (ending_threads_.contains(played_step_.thread)) take_ending(to, played_step_);
    return true;
}

// Two marks in a row mean that the thread ends.
void moved_reader::note_ending(const references::stream_event& event, std::uint64_t thread) {
    if (!is_mark(event)) return;
    if (is_marked_) ending_threads_.insert(thread);
    is_marked_ = !is_marked_;
    played_thread_ = thread;
}

// The steps of a player's thread at its end belong to the allocator, except some of the C library.
void moved_reader::take_ending(references::step& to, const references::step& from) {
    batch_.assign(from.references.begin(), from.references.end());
    for (millpond_reference& each : batch_) {
        each.origin = millpond_of_allocator;
        each.address = placed(each.address);
    }
    hand_over(to, from);
    if (from.event.record == millpond_record_signal && from.event.operands[0] == 0) ending_threads_.erase(from.thread);
}

// Returns the place in the program of an address that the other allocator accesses: only its stack frames move.
std::uint64_t moved_reader::placed(std::uint64_t address) {
    const memory_region& region = played_regions_.at(address);
    if (region.kind != memory_kind::stack || region.first != player_frame_.stack.first || program_frame_.pointer == 0)
        return address;
    // Above the frames of the call lie the thread's variables, at the end of its stack.
    const std::uint64_t own = address < player_frame_.pointer + sizeof(std::uint64_t)
                                  ? address - player_frame_.pointer + program_frame_.pointer
                                  : address - region.last + program_frame_.stack.last;
    return moves_.moved_with_stack(own, program_frame_.stack);
}

// Hands over the batch as references of the other allocator.
void moved_reader::hand_over(references::step& to, const references::step& from) {
    to.references = batch_;
    to.instructions = from.instructions;
    to.in_allocator = true;
    totals_.allocator_references += batch_.size();
    totals_.allocator_instructions += from.instructions;
}

void moved_reader::take_played(references::step& to, const references::step& from) {
    batch_.clear();
    for (const millpond_reference& each : from.references) {
        if (each.origin != millpond_of_allocator) continue;
        batch_.push_back(each);
        batch_.back().address = placed(each.address);
    }
    hand_over(to, from);
}

void moved_reader::next_inside(references::step& to) {
    if (!played_.next(played_step_)) refuse("it ends within a call");
    if (played_step_.thread != played_thread_ || !played_step_.in_allocator) return;
    take_played(to, played_step_);
    if (played_step_.event.record != millpond_record_leave) return;
    to.event.record = millpond_record_leave;
    place_ = place::late_free;
}

// Returns the result of the call that has just ended.
std::uint64_t moved_reader::played_address() {
    while (played_.next(played_step_)) {
        const references::step& s = played_step_;
        if (!s.references.empty() || s.thread != played_thread_) break;
        if (s.event.record == millpond_record_none || s.event.record == millpond_record_free) continue;
        if (s.event.record != millpond_record_allocate) break;
        const std::uint64_t bytes = s.event.operands[1];
        const bool is_same = bytes == call_.bytes || (call_.frees && call_.bytes == 0 && bytes == 1);
        if (!is_same && !may_start_a_thread(call_, recorded_.trace()))
            refuse("call " + std::to_string(totals_.calls) + " is of " + std::to_string(call_.bytes) + " bytes, not " +
                   std::to_string(bytes));
        const std::uint64_t address = s.event.operands[0];
        return placed(address);
    }
    refuse("call " + std::to_string(totals_.calls) + " failed there");
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
            next_sought(to);
            return true;
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
            next_inside(to);
            return true;
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
            moves_.begin_object(call_.address, call_.bytes, address);
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
