// SPDX-License-Identifier: BSL-1.0
// random_program: the heap events of an invented program, in one total order, as a recorder would have seen them.
//
//   threads hand objects to one another, addresses are used again, realloc moves, threads end and others begin;
//   three modules without functions give three subsystems: libx.so, liby.so, libz.so, and "[unknown]"
//
// Times are distinct, so that nothing needs mending: what the events say is what happened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"
#include "tests/lab/trace/recording.hpp"

namespace millpond::test {

class random_program {
  public:
    static constexpr const char* executable = "/nowhere/program";
    static constexpr const char* build_id = "00ff11ee";

    random_program(std::uint64_t seed, std::uint32_t threads) : random_(seed), threads_(threads) {}

    const std::vector<trace::event>& run(std::size_t events) {
        while (events_.size() < events) step();
        return events_;
    }

    // A finished trace.
    void save(const std::string& path) const {
        recording made;
        trace::process_record process;
        process.executable = executable;
        process.build_id = build_id;
        made.put_process(process);
        for (std::uint32_t m = 1; m <= modules; ++m)
            made.put_module({m, 0, m * 0x10000, m * 0x10000 + 0xffff,
                             "/nowhere/lib" + std::string(1, static_cast<char>('w' + m)) + ".so", "", 0, 0});
        std::vector<trace::context_node> nodes;
        for (std::uint32_t m = 1; m <= modules; ++m) nodes.push_back({0, m, 64});
        made.put_contexts(1, nodes);
        for (const trace::event& e : events_) made.add(e, true);
        made.close_all();
        const std::string partial = path + ".partial";
        write_file(partial, made.slot_file());
        finish(partial, path);
    }

  private:
    static constexpr std::uint32_t modules = 3;

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    trace::event& add(trace::operation op, std::uint32_t thread, std::uint64_t address) {
        events_.push_back({time_ += 1 + below(50), address, 0, 0, thread, 0, op, 0, false});
        return events_.back();
    }

    std::uint64_t take_address() {
        if (!free_.empty() && below(4) != 0) {
            const std::size_t at = below(free_.size());
            std::swap(free_[at], free_.back());
            const std::uint64_t address = free_.back();
            free_.pop_back();
            return address;
        }
        return 0x10000 + 0x100000 * ++addresses_;
    }

    void describe(trace::event& e) {
        const std::uint64_t kind = below(40);
        e.bytes = kind == 0 ? below(400'000) : kind == 1 ? 0 : kind < 8 ? below(9000) : below(200);
        e.context = static_cast<std::uint32_t>(below(modules + 1));
        e.zeroed = below(8) == 0;
    }

    void step() {
        const auto thread = static_cast<std::uint32_t>(1 + below(threads_));
        const std::uint64_t choice = below(100);
        // Waves, so that pools run empty from time to time.
        const std::uint64_t frees = events_.size() / 700 % 3 == 2 ? 75 : 35;
        if (choice == 0) {
            add(trace::operation::free, thread, 8 + 0x10000 * below(1000));  // from before the trace
        } else if (choice == 1 && below(20) == 0) {
            add(trace::operation::note, thread, 0).bytes = mpt_note_thread_end;
        } else if (choice < 2 + frees && !live_.empty()) {
            const std::size_t at = below(live_.size());
            add(trace::operation::free, thread, live_[at]);
            free_.push_back(live_[at]);
            forget(at);
        } else if (choice > 90 && !live_.empty()) {
            resize(thread, below(live_.size()));
        } else {
            const std::uint64_t address = take_address();
            trace::event& e = add(trace::operation::allocate, thread, address);
            describe(e);
            if (below(6) == 0) e.alignment_log2 = static_cast<std::uint8_t>(below(13));
            live_.push_back(address);
        }
    }

    void resize(std::uint32_t thread, std::size_t at) {
        const std::uint64_t old = live_[at];
        add(trace::operation::realloc_free, thread, old);
        free_.push_back(old);
        forget(at);
        if (below(10) == 0) return;  // its second half was lost
        if (threads_ > 1 && below(4) == 0) {
            const std::uint32_t other = 1 + thread % threads_;
            const std::uint64_t address = 0x10000 + 0x100000 * ++addresses_;
            describe(add(trace::operation::allocate, other, address));
            live_.push_back(address);
        }
        const std::uint64_t fresh = take_address();
        describe(add(trace::operation::realloc_allocate, thread, fresh));
        live_.push_back(fresh);
    }

    void forget(std::size_t at) {
        live_[at] = live_.back();
        live_.pop_back();
    }

    std::mt19937_64 random_;
    std::uint32_t threads_;
    std::vector<trace::event> events_;
    std::vector<std::uint64_t> live_, free_;
    std::uint64_t time_ = 1000, addresses_ = 0;
};

}  // namespace millpond::test
