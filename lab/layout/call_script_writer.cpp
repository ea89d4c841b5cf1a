// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/call_script_writer.hpp"

#include <deque>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/layout/region_map.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/references/player/call_script.h"
#include "lab/trace/wholeness.hpp"

namespace millpond::layout {

namespace {

constexpr std::uint64_t nothing = 0;

class script_file {
  public:
    script_file(const std::string& path, const std::string& executable) : file_(path) {
        header_.executable = millpond_hash_of_path(executable.c_str());
        put(&header_, sizeof header_);
    }

    void add(const millpond_call& call) {
        put(&call, sizeof call);
        sum_ += millpond_call_sum(header_.calls, &call);
        ++header_.calls;
    }
    void commit(std::uint32_t slots, std::uint32_t threads) {
        header_.slots = slots;
        header_.threads = threads;
        header_.magic = millpond_call_script_magic;
        header_.version = millpond_call_script_version;
        header_.call_bytes = sizeof(millpond_call);
        header_.sum = millpond_script_sum(&header_, sum_);
        flush();
        file_.write_at(0, {reinterpret_cast<const char*>(&header_), sizeof header_});
        file_.commit();
    }
    std::uint64_t calls() const { return header_.calls; }
    // Marks a call that was added: the C library made it to start this thread.
    void mark_start(std::uint64_t number, millpond_call call, std::uint64_t thread) {
        flush();
        sum_ -= millpond_call_sum(number, &call);
        call.old_bytes = thread;
        call.flags |= millpond_call_starts_thread;
        sum_ += millpond_call_sum(number, &call);
        file_.write_at(sizeof header_ + number * sizeof call, {reinterpret_cast<const char*>(&call), sizeof call});
    }

  private:
    static constexpr std::size_t buffer_bytes = 1 << 16;

    void put(const void* data, std::size_t bytes) {
        buffer_.append(static_cast<const char*>(data), bytes);
        if (buffer_.size() >= buffer_bytes) flush();
    }
    void flush() {
        file_.write(buffer_);
        buffer_.clear();
    }

    program::aside_file file_;
    std::string buffer_;
    millpond_call_script header_{};
    std::uint64_t sum_ = 0;  // checksum of the calls
};

class writer {
  public:
    writer(const std::string& path, const trace::reader& trace, plan::pool_choice* pools)
        : file_(path, trace.process().executable), pools_(pools), trace_(trace) {}

    // Notes that a thread runs. When it first runs, the earliest waiting call by which the C library starts a thread
    // was for it.
    void note_thread(std::uint64_t name) {
        if (name == latest_thread_) return;
        latest_thread_ = name;
        const bool is_first = seen_threads_.empty();
        if (!seen_threads_.insert(name).second || is_first || starts_.empty()) return;
        start_of_[name] = starts_.front();
        starts_.pop_front();
    }

    // Ends an object and returns its place in `freed_`, counted from 1.
    std::uint64_t end_object(std::uint64_t address) {
        const auto known = live_.find(address);
        if (known == live_.end()) {
            ++totals_.unknown_frees;
            return nothing;
        }
        std::uint32_t place = static_cast<std::uint32_t>(freed_.size());
        if (free_places_.empty()) {
            freed_.push_back(known->second);
        } else {
            place = free_places_.back();
            free_places_.pop_back();
            freed_[place] = known->second;
        }
        live_.erase(known);
        return place + std::uint64_t{1};
    }

    // Ends the thread, if it has made calls. Later calls under its name belong to another thread.
    void end_thread(std::uint64_t name) {
        const auto known = threads_.find(name);
        if (known == threads_.end() || known->second == 0) return;
        millpond_call end{};
        end.function = millpond_function_millpond_played_call;
        end.thread = known->second;
        end.flags = millpond_call_ends_thread;
        file_.add(end);
        threads_.erase(known);
    }

    void add(const allocator_call& of) {
        if (!millpond_is_played(of.function(), of.allocates)) return;
        millpond_call call{};
        if (of.is_early) call.flags |= millpond_call_is_early;
        call.function = static_cast<std::uint8_t>(of.function());
        call.thread = thread_of(of.thread);
        if (of.freed != nothing) {
            const object& old = freed_[of.freed - 1];
            free_places_.push_back(static_cast<std::uint32_t>(of.freed - 1));
            call.flags |= millpond_call_has_old;
            call.slot = old.slot;
            call.pool = old.pool;
            call.bytes = old.bytes;
            call.alignment_log2 = old.alignment_log2;
            ++totals_.frees;
            if (pools_ != nullptr) pools_->note_free(old.pool, static_cast<std::uint32_t>(of.thread >> 32));
            if (!of.allocates) free_slots_.push_back(old.slot);
        }
        if (of.allocates) begin_object(of, call);
        call.pool = number_of(call.pool);
        call.old_pool = number_of(call.old_pool);
        if (of.allocates && may_start_a_thread(of, trace_)) starts_.push_back({file_.calls(), call});
        file_.add(call);
    }

    script_totals finish() {
        totals_.calls = file_.calls();
        totals_.slots = slots_;
        totals_.threads = thread_count_;
        file_.commit(slots_, totals_.threads);
        return totals_;
    }

  private:
    struct object {
        std::uint64_t bytes;
        std::uint32_t slot;
        std::uint16_t pool;
        std::uint8_t alignment_log2;
    };

    void begin_object(const allocator_call& of, millpond_call& call) {
        const bool resizes = (call.flags & millpond_call_has_old) != 0;
        if (resizes) {
            call.old_bytes = call.bytes;
            call.old_pool = call.pool;
            call.old_alignment_log2 = call.alignment_log2;
        } else {
            call.slot = take_slot();
        }
        if (pools_ != nullptr && !of.is_early) call.pool = pool_of(of, resizes, call.pool);
        call.flags |= millpond_call_has_result;
        call.bytes = of.bytes;
        call.alignment_log2 = static_cast<std::uint8_t>(of.flags >> millpond_flag_alignment_shift);
        live_[of.address] = {call.bytes, call.slot, call.pool, call.alignment_log2};
        ++totals_.allocations;
    }
    std::uint16_t pool_of(const allocator_call& of, bool resizes, std::uint16_t old) {
        if (resizes && old == plan::pool_choice::malloc_pool) return old;
        trace::event event{};
        event.bytes = of.bytes;
        event.context = static_cast<std::uint32_t>(of.context);
        event.thread = static_cast<std::uint32_t>(of.thread >> 32);
        event.alignment_log2 = static_cast<std::uint8_t>(of.flags >> millpond_flag_alignment_shift);
        return resizes ? pools_->choose_resized(old, event) : pools_->choose(event);
    }
    // Returns the number by which the library of pools knows the pool.
    std::uint16_t number_of(std::uint16_t pool) const {
        static_assert(millpond_first_arena_pool > plan::pool_choice::pools_max + 1);
        if (pools_ == nullptr || !pools_->pools()[pool].is_arena) return pool;
        return static_cast<std::uint16_t>(millpond_first_arena_pool + pool);
    }
    std::uint32_t take_slot() {
        if (free_slots_.empty()) return slots_++;
        const std::uint32_t slot = free_slots_.back();
        free_slots_.pop_back();
        return slot;
    }
    std::uint32_t thread_of(std::uint64_t thread) {
        const auto [known, is_new] = threads_.try_emplace(thread, thread_count_);
        thread_count_ += is_new;
        if (const auto start = start_of_.find(thread); is_new && start != start_of_.end())
            file_.mark_start(start->second.number, start->second.call, known->second);
        return known->second;
    }

    script_file file_;
    plan::pool_choice* pools_;
    const trace::reader& trace_;
    struct thread_start {
        std::uint64_t number;
        millpond_call call;
    };
    std::deque<thread_start> starts_;  // calls of the dynamic linker for threads that have not run yet
    std::unordered_map<std::uint64_t, thread_start> start_of_;  // by thread
    std::unordered_set<std::uint64_t> seen_threads_;
    std::uint64_t latest_thread_ = 0;
    script_totals totals_;
    std::unordered_map<std::uint64_t, object> live_;  // by address
    std::vector<object> freed_;                       // objects whose free calls have not ended yet
    std::vector<std::uint32_t> free_places_, free_slots_;
    std::uint32_t slots_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> threads_;
    std::uint32_t thread_count_ = 0;
};

// A C library returns a thread's cache some time before the thread ends.
bool begins_thread_end(const references::stream_event& event) {
    if (event.record == millpond_record_signal) return event.operands[0] == 0;
    return event.record == millpond_record_enter &&
           millpond_entry_function(event.operands[0]) == millpond_function_millpond_internal_call;
}

bool has_main(const std::string& recording, const trace::reader& trace) {
    return region_map::of_recording(recording, trace).has_main();
}

}  // namespace

script_totals write_call_script(const std::string& recording, const std::string& script, plan::pool_choice* pools,
                                bool accepts_damaged) {
    references::reader reader(recording, {.with_system = false});
    writer to(script, reader.trace(), pools);
    call_assembly assembly(has_main(recording, reader.trace()));
    for (references::step step; reader.next(step);) {
        if (const auto call = assembly.ended_before(step)) to.add(*call);
        const std::uint64_t thread = assembly.name_of(step.thread);
        to.note_thread(thread);
        if (begins_thread_end(step.event)) to.end_thread(thread);
        if (const auto call = assembly.ended_by(step, [&](std::uint64_t a) { return to.end_object(a); })) to.add(*call);
    }
    if (const auto call = assembly.ended_at_last()) to.add(*call);
    trace::require_whole(recording, reader.damages(), accepts_damaged);
    return to.finish();
}

}  // namespace millpond::layout
