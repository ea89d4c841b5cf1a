// SPDX-License-Identifier: BSL-1.0
// attributed_run: finds whose memory each reference of a recording touches, and what it costs in a cache.
//
//   reader ─▶ reference ─▶ object_map ─▶ subject ─▶ attributed_cache, line_use      misses, bytes fetched and used
//                 │     └▶ region_map ─▶ place   ├▶ transitions, footprints         T and M of locality
//                 │                              ├▶ affinity                        who is accessed together
//                 │                              └▶ reference_map                   the picture
//                 └ events of the heap ─▶ object_map, allocator_calls               live objects, D
//
// Subjects are numbers that the caller assigns: `subject_of` maps a context to its subject, and `subjects` is their
// number. The places that are not subsystems follow them. References of the allocator count for the allocator, wherever
// they lie. References of system calls are counted, but do not go through the cache. A transition out of a subsystem is
// counted if a thread's next reference to an object is to one of another subsystem. References to the stack, to global
// variables or by the allocator may come between the two.
//
// Memory: the live heap (object_map), the lines that the program touches (line_use, attributed_cache, footprints) and
// one block of the recording; it does not grow with the length of the run. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lab/attribution/affinity.hpp"
#include "lab/attribution/allocator_calls.hpp"
#include "lab/attribution/footprints.hpp"
#include "lab/attribution/line_use.hpp"
#include "lab/attribution/reference_map.hpp"
#include "lab/layout/object_map.hpp"
#include "lab/layout/region_map.hpp"
#include "lab/references/reader.hpp"
#include "lab/simulate/attributed_cache.hpp"

namespace millpond::attribution {

enum class place : std::uint8_t { heap, stack, global, unknown, allocator, system };
inline constexpr unsigned places = 6;
const char* name_of(place where);

struct cache_shape {
    std::string description;
    std::uint64_t sets = 64;
    unsigned ways = 8;
    std::uint32_t line_bytes = 64;
    simulate::replacement rule = simulate::replacement::lru;
    std::uint64_t seed = 1;

    // Returns the shape that a description gives (lab/simulate/description.hpp), of kind attributed, lru (one size),
    // fifo or random. Throws program::failure (usage) for other descriptions.
    static cache_shape of(const std::string& description);
    static constexpr const char* standard = "attributed:line=64,size=32K,ways=8";
};

struct miss_counts {
    std::uint64_t references = 0, cold = 0, capacity = 0, conflict = 0, indirect = 0;
    line_bytes bytes;

    std::uint64_t misses() const { return cold + capacity + conflict; }
    void add(const miss_counts& other);
};

struct attribution_totals {
    std::uint64_t references = 0;
    std::uint64_t instructions = 0, allocator_instructions = 0;
    std::uint64_t not_captured = 0;  // instructions in gaps
};

class attributed_run {
  public:
    using subject_function = std::function<std::uint32_t(std::uint64_t context)>;

    // `instructions`: the number in the whole run, for the picture. `affine`: the subjects whose affinity is counted,
    // if any.
    attributed_run(std::uint32_t subjects, subject_function subject_of, cache_shape shape, layout::region_map regions,
                   std::uint64_t instructions, const std::vector<std::uint32_t>& affine = {});
    attributed_run(const attributed_run&) = delete;
    attributed_run& operator=(const attributed_run&) = delete;

    void take(const references::step& step);
    // Call after the last step.
    void finish();

    const attribution_totals& totals() const { return totals_; }
    miss_counts of_subject(std::uint32_t subject) const;
    miss_counts of_place(place where) const;
    std::uint64_t transitions(std::uint32_t subject) const { return transitions_[subject]; }
    footprint footprint_of(std::uint32_t subject) const { return footprints_.of(subject); }
    allocator_work work_for(std::uint32_t subject) const;
    allocator_work work_for_unknown() const { return work_for(subjects_); }
    // Returns the same work by thread, for threads that did any. A thread's span ends with its last call for the
    // subject, or with the thread if an object of the subject is still alive. O(threads).
    std::vector<allocator_work> work_by_thread(std::uint32_t subject) const;
    const affinity& together() const { return affinity_; }
    const reference_map& map() const { return map_; }
    const cache_shape& shape() const { return shape_; }
    bool knows_regions() const { return !regions_.empty(); }

  private:
    static constexpr std::uint32_t nothing = ~std::uint32_t{0};

    struct thread_state {
        std::uint32_t latest = nothing;  // the subject of its latest reference to an object
        std::uint64_t instructions = 0;
        std::uint64_t last = 0;  // instructions of all threads when this thread executed its latest
        allocator_calls calls;
        // by subject; the last entry is for unknown owners; empty before the first call
        std::vector<allocator_work> work_for;
        affinity::window window;
    };

    std::uint32_t subject_at(place where) const { return subjects_ + static_cast<std::uint32_t>(where); }
    void take_references(const references::step& step, thread_state& thread);
    void take_program(millpond_reference r, thread_state& thread);
    bool through_cache(const millpond_reference& r, place where);
    void take_event(const references::stream_event& event, thread_state& thread);
    void begin_object(const references::stream_event& event, thread_state& thread);
    void end_object(std::uint64_t address, thread_state& thread);
    auto settling(thread_state& thread) {
        return [this, &thread](std::optional<std::uint32_t> owner, const allocator_work& work) {
            if (thread.work_for.empty()) thread.work_for.resize(subjects_ + 1);
            thread.work_for[owner.value_or(subjects_)].add(work);
        };
    }

    std::uint32_t subjects_;
    subject_function subject_of_;
    cache_shape shape_;
    layout::region_map regions_;
    layout::object_map objects_;
    footprints footprints_;
    affinity affinity_;
    simulate::attributed_cache cache_;
    line_use lines_;
    reference_map map_;
    attribution_totals totals_;
    std::uint64_t system_references_ = 0;
    std::vector<std::uint64_t> transitions_;
    std::vector<std::uint64_t> live_;  // live objects, by subject
    std::unordered_map<std::uint64_t, thread_state> threads_;
};

// Reads the whole recording into `to` and finishes it.
void take_all(references::reader& reader, attributed_run& to);

}  // namespace millpond::attribution
