// SPDX-License-Identifier: BSL-1.0
// pool_choice: chooses the pool of each allocation of a trace.
//
//   nothing          pool 0, malloc, for all of them
//   per subsystem    a pool for each subsystem that allocates, in the order in which they first do
//   a plan           the pools of its routes, else malloc, as millpond-trial does it: blocks
//                    above 32 KiB or aligned to more than 64 stay with malloc; a pool without a lock belongs to the
//                    first thread that allocates from it, and other threads' allocations stay with malloc; realloc
//                    leaves a block in its pool. An arena that is reset when nothing in it is alive ("phase") is
//                    played where the caller can play it; it belongs to one thread, too, and is not bounded as a
//                    trial's is
//
// Throws: failure with the statuses of a trial: 2 for an arena that is not played or an unknown subsystem, 3 for a
// plan of another build. choose: O(1). Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/plan/plan.hpp"
#include "lab/symbols/context_functions.hpp"
#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::plan {

class pool_choice {
  public:
    static constexpr std::size_t pools_max = 65000;
    static constexpr std::uint16_t malloc_pool = 0;

    struct pool {
        std::string name, strategy;
        bool one_thread = false;  // refuses the allocations of all threads but the first
        std::uint32_t first_thread = 0;
        std::uint64_t objects = 0, refused = 0;
        bool shared = false;
        bool is_arena = false;
    };

    // Everything from malloc.
    pool_choice() = default;
    // A pool for each subsystem.
    explicit pool_choice(const trace::reader& reader);
    // `plays_arenas`: accepts arenas of phases; all others are refused.
    pool_choice(const trace::reader& reader, const plan& chosen, bool plays_arenas = false);

    // The pool of the new object of an allocation.
    std::uint16_t choose(const trace::event& e) {
        if (pool_of_subsystem_.empty()) return malloc_pool;
        const std::uint32_t subsystem = map_->subsystem_of(e.context < contexts_ ? e.context : 0);
        if (pool_of_subsystem_[subsystem] == undecided) pool_of_subsystem_[subsystem] = add(subsystem);
        return admit(pool_of_subsystem_[subsystem], e);
    }
    // Returns the pool of an object of `old` that realloc has resized to these bytes.
    std::uint16_t choose_resized(std::uint16_t old, const trace::event& e) { return admit(old, e); }
    void note_free(std::uint16_t from, std::uint32_t thread) {
        if (from != malloc_pool && pools_[from].first_thread != thread) pools_[from].shared = true;
    }

    // Position 0 is malloc.
    const std::vector<pool>& pools() const { return pools_; }
    bool of_a_plan() const { return of_a_plan_; }

  private:
    static constexpr std::uint64_t pooled_bytes_max = std::uint64_t{32} << 10;
    static constexpr unsigned pooled_alignment_log2_max = 6;

    static constexpr std::uint16_t undecided = 0xffff;

    std::uint16_t add(std::uint32_t subsystem);
    std::uint16_t admit(std::uint16_t wanted, const trace::event& e);
    void map_subsystems(const trace::reader& reader);
    void check_names(const trace::reader& reader, const plan& chosen) const;

    std::vector<pool> pools_{{"malloc", "malloc", false, 0, 0, 0, false, false}};
    std::unique_ptr<symbols::context_functions> functions_;
    std::unique_ptr<symbols::subsystem_map> map_;
    std::vector<std::uint16_t> pool_of_subsystem_;  // empty: everything from malloc
    std::uint32_t contexts_ = 0;
    bool of_a_plan_ = false;
};

}  // namespace millpond::plan
