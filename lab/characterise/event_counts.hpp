// SPDX-License-Identifier: BSL-1.0
// event_counts: the counts from one pass over the events of a trace, for each subsystem and for the whole.
//
//   event ─▶ live_objects ─▶ which object ─▶ its context ─▶ subsystem ─▶ counters, lifetimes, sizes
//        └─▶ activations of its thread ───▶ how many of the scopes around the object have ended ─▶ legality
//
// Use: consume() every batch of reader::for_each_batch, then finish(); characterisation.hpp interprets the numbers.
// An event costs O(1) look-ups in flat arrays and one in the table of live objects, which is prefetched. Memory grows
// with contexts, live objects and (threads × subsystems that meet), never with events. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <numeric>
#include <span>
#include <vector>

#include "lab/characterise/activations.hpp"
#include "lab/characterise/address_map.hpp"
#include "lab/characterise/cpu_notes.hpp"
#include "lab/characterise/freeing_counts.hpp"
#include "lab/characterise/histogram.hpp"
#include "lab/characterise/legality_record.hpp"
#include "lab/characterise/operation_durations.hpp"
#include "lab/characterise/page_survey.hpp"
#include "lab/characterise/phase_search.hpp"
#include "lab/characterise/pinned_pages.hpp"
#include "lab/characterise/sample_estimates.hpp"
#include "lab/characterise/size_class.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// The record of a live object, in 24 bytes, so that with its address it fills half a cache line.
//
//   bits   tick 52 │ thread 12   birth 44 │ bytes 12 │ thread 8   context 32 │ bytes 32
//                  └ low                  └ high     └ high                  └ low
//
// Ticks count from the first event: 17 days at 3 GHz. Values beyond their field (an object above 16 TiB, a thread above
// one million) are kept as the largest that fits. Trivially copyable.
class packed_object {
  public:
    packed_object() = default;
    packed_object(std::uint64_t bytes, std::uint64_t tick, std::uint64_t birth, std::uint32_t context,
                  std::uint32_t thread) {
        const std::uint64_t kept_bytes = std::min(bytes, bytes_max);
        const std::uint64_t kept_thread = std::min<std::uint64_t>(thread, thread_max);
        when_ = std::min(tick, tick_max) << 12 | (kept_thread & 0xfff);
        since_ = birth << 20 | (kept_bytes >> 32) << 8 | kept_thread >> 12;
        what_ = std::uint64_t{context} << 32 | (kept_bytes & 0xffff'ffff);
    }

    static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1;
    static constexpr std::uint64_t tick_max = (std::uint64_t{1} << 52) - 1;
    static constexpr std::uint32_t thread_max = (1u << 20) - 1;

    std::uint64_t tick() const { return when_ >> 12; }
    std::uint64_t birth() const { return since_ >> 20; }
    std::uint64_t bytes() const { return (since_ >> 8 & 0xfff) << 32 | (what_ & 0xffff'ffff); }
    std::uint32_t context() const { return static_cast<std::uint32_t>(what_ >> 32); }
    std::uint32_t thread() const { return static_cast<std::uint32_t>((since_ & 0xff) << 12 | (when_ & 0xfff)); }

  private:
    std::uint64_t when_, since_, what_;
};

struct diffusion_point {
    std::uint64_t tick, live_bytes, page_bytes;
};

// The members that every event touches come first, in one cache line.
struct alignas(64) subsystem_counts {
    std::uint64_t live_bytes = 0, peak_bytes = 0, live_objects = 0, peak_objects = 0;
    std::uint64_t frees = 0, last_tick = 0;
    std::uint64_t first_tick = 0;
    std::uint64_t reallocations = 0;

    histogram lifetimes_ns;
    std::vector<std::uint64_t> sizes = std::vector<std::uint64_t>(size_class_count);
    std::uint64_t realloc_frees = 0;                          // ends by realloc, not counted in `frees`
    std::uint64_t freed_by_others = 0;                        // by another thread than the allocating one
    std::uint64_t outlived_thread = 0;                        // freed after its thread had ended
    std::uint64_t left_by_thread = 0;                         // never freed, and its thread had ended
    std::uint64_t left_on_first_thread = 0;                   // never freed, of the first thread, still running
    std::uint64_t first_empty_tick = 0, last_empty_tick = 0;  // moments at which none of it was alive; 0: never
    std::vector<diffusion_point> diffusion;
    operation_durations durations;
    std::uint64_t opening_bytes = 0;  // alive when the window began; 0 without one
    // Sums over the contexts, made at the end.
    std::uint64_t objects = 0, bytes = 0;

    std::uint64_t allocations() const { return objects - reallocations; }
    std::uint64_t events() const { return objects + frees + realloc_frees; }
};

// The counts of one thread in one subsystem.
struct thread_share {
    std::uint32_t thread, subsystem;
    operation_counts operations{};
    std::uint64_t objects = 0;
    std::uint64_t first_tick = 0, last_tick = 0;  // of its operations
    activation_bytes of_activations;

    std::uint64_t operations_in_all() const {
        return std::accumulate(operations.begin(), operations.end(), std::uint64_t{0});
    }
};

struct trace_totals {
    std::uint64_t events = 0, allocations = 0, frees = 0, reallocations = 0, bytes = 0;
    std::uint64_t live_bytes = 0, peak_bytes = 0, live_objects = 0, peak_objects = 0;
    std::uint64_t words_noted = 0;  // at allocations: owners may be among them
    bool frees_are_placed = false;  // their contexts are recorded
    std::uint64_t lost_by_notes = 0, unmatched_frees = 0, lost_frees = 0, mended = 0;
    std::uint64_t first_tick = 0, last_tick = 0;
    operation_durations durations;
};

// An object that was never freed, although a scope around it, or its thread, had ended.
struct left_object {
    std::uint64_t address, bytes, tick;
    std::uint32_t context, thread;
};

class event_counts {
  public:
    static constexpr std::size_t diffusion_points_max = 64;

    // `events`: the approximate number of events; it spaces the surveys of pages.
    event_counts(const symbols::subsystem_map& subsystems, const scope_tree& scopes,
                 const std::vector<trace::context_node>& nodes, std::uint64_t events, double ticks_per_ns);

    // Reports each event to `search`, too. Before the first event; `search` must outlive the last one.
    void search_phases(phase_search& search) { search_ = &search; }
    void consume(const trace::event* batch, std::size_t count);
    void finish();
    // Begins a window: sizes, bytes, peaks and operations are counted from here on, and live objects count as requested
    // now. All other counts (legality, lifetimes, durations of timed operations) continue.
    void begin_window();

    // For a sampled trace, after finish(): replaces the counts of what was sampled by the estimates for everything:
    // operations, bytes, live objects, sizes and lifetimes. Legality, pages and durations stay those of the sample.
    void take_estimates(const sample_estimates& estimates);

    const trace_totals& totals() const { return totals_; }
    const std::vector<subsystem_counts>& subsystems() const { return counts_; }
    const std::vector<context_counts>& contexts() const { return contexts_; }
    const std::deque<thread_share>& shares() const { return shares_; }
    const legality_record& legality() const { return legality_; }
    const address_map& addresses() const { return addresses_; }
    const pinned_pages& pinning() const { return pinning_; }
    const freeing_counts& freeings() const { return freeings_; }
    // Objects and bytes of each context that are live when the trace ends; available after finish().
    const std::vector<live_counts>& left() const { return left_; }

    // The largest number of left objects that are kept.
    static constexpr std::size_t left_objects_max = std::size_t{1} << 20;
    const std::vector<left_object>& left_objects() const { return left_objects_; }
    // Reports an access to a left object while `surviving` of the scopes around it were active, or after its thread had
    // ended.
    void touched(const left_object& object, std::size_t surviving, bool thread_ended);

    struct thread_facts {
        std::uint64_t last_tick = 0, operations = 0, timed = 0;
        std::uint64_t records = 0;  // events and notes
        cpu_notes cpu;

        // A realloc is one operation in two events; either may carry its duration.
        void add(const trace::event& e) {
            ++records;
            last_tick = e.time_ticks;
            operations += e.op != trace::operation::realloc_free;
            timed += e.duration_ticks != 0;
        }
        void add_note(const trace::event& e) {
            if (e.bytes == mpt_note_cpu) cpu.add({e.time_ticks, e.address, records});
            ++records;
        }
    };
    // Indexed by the number of the stream.
    std::vector<thread_facts> threads() const;

  private:
    static constexpr std::uint32_t no_context = ~std::uint32_t{0};

    struct thread_state {
        activations active;
        std::vector<thread_share*> share_of;  // by subsystem; null: none
        std::uint32_t last_context = 0;
        std::uint32_t freed_at = no_context;  // the context of its frees from here on
        std::uint32_t resized = no_context;   // the subsystem that made the block that its next event resizes
        bool ended = false;
        thread_facts facts;
    };

    // An event ends in four places of memory, each of which leads to the next: the object, its context, the subsystem,
    // the row of legality. So events are taken in chunks, and each place is prefetched a chunk ahead of the next.
    static constexpr std::size_t chunk = 16;
    // Prefetch hints: the places that a chunk of events will touch, as far as they are known beforehand.
    struct look_ahead {
        std::array<std::uint32_t, chunk> context{};
        std::array<std::size_t, chunk> position{};  // in live_
    };

    void take(const trace::event& e, std::size_t position);
    void fetch_objects(std::span<const trace::event> events) const;
    void fetch_contexts(std::span<const trace::event> events, look_ahead& ahead) const;
    void fetch_counts(std::size_t count, const look_ahead& ahead) const;
    void allocate(const trace::event& e);
    void end(const trace::event& e, std::size_t position);
    void note(const trace::event& e);
    // `event`: the event that ends the object; null for an end that arrived too early and meets its object now.
    void object_ended(const packed_object& o, trace::moment at, trace::ending how, const trace::event* event);
    void object_left(std::uint64_t address, const packed_object& o);
    void add_operation(thread_share& s, const trace::event& e, std::uint64_t bytes);
    thread_share& share(thread_state& t, std::uint32_t number, std::uint32_t subsystem);
    thread_share& add_share(thread_state& t, std::uint32_t number, std::uint32_t subsystem);
    thread_state& thread(std::uint32_t number);
    void find_thread(std::uint32_t number);
    void survey_pages();

    const scope_tree& scopes_;
    const std::vector<trace::context_node>& nodes_;
    double ns_per_tick_;
    // Takes the live bytes of a context for the peaks since its last change, in which they were the same. Before each
    // change of them, so that a peak costs no pass over all contexts.
    void see_peak(context_counts& context) const {
        if (context.peaks == peaks_) return;
        context.peak_bytes = context.live_bytes;
        context.peaks = peaks_;
    }

    trace_totals totals_;
    std::uint64_t peaks_ = 0;  // how often all live bytes have reached a new peak
    std::vector<subsystem_counts> counts_;
    std::vector<context_counts> contexts_;
    std::deque<thread_state> threads_;  // by number
    thread_state* recent_thread_ = nullptr;
    std::uint32_t recent_number_ = ~std::uint32_t{0};
    std::deque<thread_share> shares_;
    trace::live_objects<packed_object> live_;
    legality_record legality_;
    phase_search* search_ = nullptr;  // null: none
    std::uint64_t clock_ = 0;         // of activations
    std::uint32_t first_thread_ = 0;

    page_survey survey_;
    address_map addresses_;
    pinned_pages pinning_;
    freeing_counts freeings_;
    std::vector<live_counts> left_;
    std::vector<left_object> left_objects_;
    std::uint64_t next_survey_, survey_interval_, looks_ = 0;
    double looks_an_event_;  // that surveys may take
};

}  // namespace millpond::characterise
