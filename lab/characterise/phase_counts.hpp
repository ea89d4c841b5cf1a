// SPDX-License-Identifier: BSL-1.0
// phase_counts: the counts of each phase of a trace, for the whole and for each subsystem that allocates in it.
//
//   stretches   │ load │ serve │ load │ …       phases of one name are one phase with several stretches
//   objects        ●──●   ●────────●            ended in the stretch in which it began, or outlived it
//
// Use: consume() every batch of reader::for_each_batch, then finish(). O(1) an event. Memory grows with live
// objects, and phases × subsystems. Phases beyond phases_max share the last one. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/characterise/phase_search.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/phase_marks.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// The counts of a subsystem in a phase: its objects that began there.
struct phase_share {
    std::uint64_t objects = 0, bytes = 0;
    std::uint64_t ended_within = 0;       // in the stretch in which they began
    std::uint64_t running_at_end = 0;     // alive when the trace ended, in the stretch in which they began
    std::uint64_t peak_bytes = 0;         // the most live bytes of the subsystem after an allocation in this phase
    std::uint64_t stretch_bytes_max = 0;  // allocated in one stretch: what an arena for each stretch would hold
    std::uint64_t stretch_bytes = 0;      // allocated in the last stretch with an allocation
    std::uint32_t stretch = 0;            // that one

    // Objects that an arena for each stretch would end too early.
    [[nodiscard]] std::uint64_t outliving() const { return objects - ended_within - running_at_end; }
};

struct phase {
    std::string name;  // of a mark; empty: outside marks, or found
    std::uint64_t stretches = 0, events = 0, allocations = 0, bytes = 0;
    std::uint64_t first_event = 0;  // number of events before its first stretch
    std::uint64_t ticks = 0;
    std::uint64_t begin_bytes = 0, end_bytes = 0, peak_bytes = 0;  // live: first stretch, last stretch, all stretches
    std::vector<phase_share> shares{};                             // by subsystem
};

class phase_counts {
  public:
    static constexpr std::size_t phases_max = 256;
    static constexpr const char* others = "(other phases)";  // the name of the last phase if there are more

    // `contexts`: the number of nodes in the trace.
    phase_counts(const phase_boundaries& found, const symbols::subsystem_map& subsystems, std::size_t contexts);

    void consume(const trace::event* batch, std::size_t count);
    void finish();

    [[nodiscard]] bool is_marked() const { return is_marked_; }
    // In the order in which they first began; phases without an event are left out.
    [[nodiscard]] std::vector<const phase*> phases() const;

  private:
    static constexpr std::size_t none = ~std::size_t{0};

    struct live_block {
        std::uint64_t bytes;
        std::uint32_t subsystem, stretch;
    };

    void take(const trace::event& e);
    void allocate(const trace::event& e);
    void ended(const live_block& o);
    void begin(const std::string& name, std::uint64_t tick);
    void end(std::uint64_t tick);
    std::size_t number_of(const std::string& name);

    bool is_marked_;
    std::vector<std::uint64_t> boundaries_;
    std::vector<std::uint32_t> subsystem_of_;  // by context
    std::vector<std::uint64_t> live_of_;       // bytes, by subsystem
    trace::live_objects<live_block> live_;
    std::size_t next_ = 0, now_ = none;  // the next boundary, the current phase
    std::uint32_t stretches_ = 0;
    std::uint64_t live_bytes_ = 0, events_ = 0, begin_tick_ = 0, last_tick_ = 0;
    trace::phase_marks marks_;
    std::vector<phase> phases_;
    std::unordered_map<std::string, std::size_t> numbers_;  // by name
};

}  // namespace millpond::characterise
