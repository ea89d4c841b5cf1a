// SPDX-License-Identifier: BSL-1.0
// preparation: writes a trace's events as a script (script.hpp), in one pass.
//
//   event ─▶ live_objects (mends hand-offs, finds the object that a free ends) ─▶ slot, bytes, pool ─▶ record
//
// Frees of unknown objects are dropped and counted; objects that are live at the end stay live.
// The peak of live bytes is counted here in the total order, exactly as the characterisation counts it.
// Use: consume() every batch of reader::for_each_batch, then finish(). An event is O(1); memory follows live objects,
// threads and contexts, never events. Throws failure. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "lab/plan/pool_choice.hpp"
#include "lab/replay/script_writer.hpp"
#include "lab/replay/slot_stock.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::replay {

struct preparation_totals {
    std::uint64_t events = 0, records = 0, allocations = 0, frees = 0, reallocations = 0;
    std::uint64_t peak_live_bytes = 0, peak_live_objects = 0, end_live_bytes = 0, end_live_objects = 0;
    std::uint64_t unmatched = 0, lost_frees = 0, mended = 0, slots = 0, threads = 0;
    double span_seconds = 0;
};

class preparation {
  public:
    preparation(plan::pool_choice& pools, script_writer& script, double ticks_per_ns)
        : pools_(pools), script_(script), ns_per_tick_(1 / ticks_per_ns) {}

    void consume(const trace::event* batch, std::size_t count);
    preparation_totals finish();

  private:
    struct object {
        std::uint64_t bytes : 44, alignment_log2 : 6;
        std::uint32_t slot;
        std::uint16_t pool, thread;  // the thread that allocated it
    };
    struct thread_state {
        std::uint32_t number = none;  // in the script
        bool has_pending = false;
        object pending{};  // ended by realloc, whose second half comes next
    };
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    void take(const trace::event& e);
    void allocate(const trace::event& e, thread_state& t);
    void object_ended(const object& o, trace::moment at, const trace::event* event);
    void settle_pending(thread_state& t);
    void end_thread(std::uint32_t stream);
    thread_state& thread(std::uint32_t stream);
    std::uint16_t number_of(thread_state& t);
    void write(operation op, const object& o, std::uint16_t thread, bool zeroed = false);

    plan::pool_choice& pools_;
    script_writer& script_;
    double ns_per_tick_;
    trace::live_objects<object> live_;
    slot_stock slots_;
    std::deque<thread_state> threads_;  // by number of the stream
    std::vector<std::uint16_t> free_numbers_;
    std::uint32_t numbers_ = 0;
    preparation_totals totals_;
    std::uint64_t live_bytes_ = 0, live_count_ = 0, first_tick_ = 0, now_ = 0;
    bool began_ = false;
};

}  // namespace millpond::replay
