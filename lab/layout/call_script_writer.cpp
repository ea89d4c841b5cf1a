// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/call_script_writer.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

#include "lab/layout/region_map.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/references/player/call_script.h"

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
        ++header_.calls;
        if (call.thread >= calls_of_.size()) calls_of_.resize(call.thread + std::size_t{1});
        ++calls_of_[call.thread];
    }
    void commit(std::uint32_t slots, std::uint32_t pools) {
        header_.slots = slots;
        header_.pools = pools;
        header_.threads = static_cast<std::uint32_t>(calls_of_.size());
        header_.magic = millpond_call_script_magic;
        header_.version = millpond_call_script_version;
        header_.call_bytes = sizeof(millpond_call);
        put(calls_of_.data(), calls_of_.size() * sizeof calls_of_[0]);
        flush();
        file_.write_at(0, {reinterpret_cast<const char*>(&header_), sizeof header_});
        file_.commit();
    }
    std::uint64_t calls() const { return header_.calls; }
    std::uint32_t threads() const { return static_cast<std::uint32_t>(calls_of_.size()); }

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
    std::vector<std::uint64_t> calls_of_;
};

class writer {
  public:
    writer(const std::string& path, const std::string& executable, const pool_of_call& pool_of)
        : file_(path, executable), pool_of_(pool_of) {}

    // What is known of a freed object: its place in `freed_`, from 1.
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

    void add(const allocator_call& of) {
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
            if (!of.allocates) free_slots_.push_back(old.slot);
        }
        if (of.allocates) begin_object(of, call);
        file_.add(call);
    }

    script_totals finish(std::uint32_t pools) {
        totals_.calls = file_.calls();
        totals_.slots = slots_;
        totals_.threads = file_.threads();
        file_.commit(slots_, pools);
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
        if (!resizes) {
            call.slot = take_slot();
            if (pool_of_) call.pool = pool_of_(of);
        }
        call.flags |= millpond_call_has_result;
        call.bytes = of.bytes;
        call.alignment_log2 = static_cast<std::uint8_t>(of.flags >> millpond_flag_alignment_shift);
        live_[of.address] = {call.bytes, call.slot, call.pool, call.alignment_log2};
        ++totals_.allocations;
    }
    std::uint32_t take_slot() {
        if (free_slots_.empty()) return slots_++;
        const std::uint32_t slot = free_slots_.back();
        free_slots_.pop_back();
        return slot;
    }
    std::uint32_t thread_of(std::uint64_t thread) {
        return threads_.try_emplace(thread, static_cast<std::uint32_t>(threads_.size())).first->second;
    }

    script_file file_;
    const pool_of_call& pool_of_;
    script_totals totals_;
    std::unordered_map<std::uint64_t, object> live_;  // by address
    std::vector<object> freed_;                       // whose calls have not ended yet
    std::vector<std::uint32_t> free_places_, free_slots_;
    std::uint32_t slots_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> threads_;
};

bool has_main(const std::string& recording, const trace::reader& trace) {
    return region_map::of_recording(recording, trace).has_main();
}

}  // namespace

script_totals write_call_script(const std::string& recording, const std::string& script, std::uint32_t pools,
                                const pool_of_call& pool_of) {
    references::reader reader(recording, {.with_system = false});
    writer to(script, reader.trace().process().executable, pool_of);
    call_assembly assembly(has_main(recording, reader.trace()));
    for (references::step step; reader.next(step);) {
        if (const auto call = assembly.ended_before(step)) to.add(*call);
        if (const auto call = assembly.ended_by(step, [&](std::uint64_t a) { return to.end_object(a); })) to.add(*call);
    }
    if (const auto call = assembly.ended_at_last()) to.add(*call);
    return to.finish(pools);
}

}  // namespace millpond::layout
