// SPDX-License-Identifier: BSL-1.0
// phased_program: invented programs whose phases are known, as the events of their traces.
//
//   load        serve       stop         each phase is a mix of jobs: allocations of one subsystem, and frees
//   ●●●●●●●●●   ●○●○●○●○●   ○○○○○○○○     of one of its objects, drawn at random from a seed
//
// Use find(), which returns the boundaries that a search finds, and boundaries, which are the true ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lab/characterise/phase_search.hpp"
#include "small_program.hpp"

namespace millpond::test {

inline characterise::phase_boundaries found_in(const small_program& program, const std::vector<trace::event>& events) {
    const symbols::context_functions functions = program.functions();
    const symbols::subsystem_map subsystems(functions, {});
    const characterise::scope_tree scopes(functions, subsystems);
    characterise::event_counts counted(subsystems, scopes, program.nodes(), events.size(), 1.0);
    characterise::phase_search search(subsystems.subsystems().size(), events.size());
    counted.search_phases(search);
    counted.consume(events.data(), events.size());
    return search.finish();
}

class phased_program {
  public:
    // The weights of two events: an allocation for a subsystem, and a free of one of its objects, if it has any.
    struct job {
        std::string subsystem;
        double births = 1, ends = 1;
        double bytes = 64;  // median of a lognormal distribution
    };

    explicit phased_program(std::uint64_t seed) : random_(seed) {}

    // Begins a phase, except at the beginning of the program.
    void phase() {
        if (!events_.empty()) boundaries.push_back(events_.size());
    }
    // Lets these jobs run for a number of events.
    void run(const std::vector<job>& jobs, std::uint64_t events) {
        std::vector<double> weights;
        for (const job& each : jobs) {
            weights.push_back(each.births);
            weights.push_back(each.ends);
        }
        std::discrete_distribution<std::size_t> next(weights.begin(), weights.end());
        for (std::uint64_t i = 0; i < events;) {
            const std::size_t drawn = next(random_);
            subsystem_state& s = state(jobs[drawn / 2].subsystem);
            if (drawn % 2 == 1 && s.live.empty()) {
                if (jobs[drawn / 2].births == 0 && ++refused_ > 1000) return;  // nothing is left to be freed
                continue;
            }
            refused_ = 0;
            if (drawn % 2 == 0)
                allocate(s, jobs[drawn / 2].bytes);
            else
                free(s);
            ++i;
        }
    }
    // A number around `events`, up to a third more or less.
    std::uint64_t around(double events) {
        return static_cast<std::uint64_t>(events * std::uniform_real_distribution<>(2.0 / 3, 4.0 / 3)(random_));
    }
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    std::uint64_t event_count() const { return events_.size(); }
    std::uint64_t live_objects(const std::string& subsystem) { return state(subsystem).live.size(); }
    characterise::phase_boundaries find() const { return found_in(program_, events_); }

    std::vector<std::uint64_t> boundaries;  // events before each phase but the first

  private:
    struct subsystem_state {
        std::string name;
        std::uint32_t context;
        std::vector<std::uint64_t> live;
    };

    subsystem_state& state(const std::string& name) {
        for (subsystem_state& each : states_) {
            if (each.name == name) return each;
        }
        states_.push_back({name, program_.frame(0, name + "::make", states_.size()), {}});
        return states_.back();
    }
    void allocate(subsystem_state& s, double median_bytes) {
        const double bytes = std::lognormal_distribution<>(std::log(median_bytes), 1)(random_);
        next_address_ += 16;
        events_.push_back(allocation(next_tick(), 1, next_address_, 1 + static_cast<std::uint64_t>(bytes), s.context));
        s.live.push_back(next_address_);
    }
    void free(subsystem_state& s) {
        std::uint64_t& chosen = s.live[below(s.live.size())];
        events_.push_back(deallocation(next_tick(), 1, chosen));
        chosen = s.live.back();
        s.live.pop_back();
    }
    std::uint64_t next_tick() { return 100 * (events_.size() + 1); }

    std::mt19937_64 random_;
    small_program program_;
    std::vector<subsystem_state> states_;
    std::vector<trace::event> events_;
    std::uint64_t next_address_ = 0x10000, refused_ = 0;
};

// The six programs. Lengths of phases differ by seed.

// Loads an index, serves requests, frees everything.
inline phased_program server(std::uint64_t seed) {
    phased_program p(seed);
    p.run({{"index", 1, 0, 48}, {"parser", 0.4, 0.4, 200}}, p.around(60'000));
    p.phase();
    p.run({{"request", 1, 1, 300}, {"reply", 0.8, 0.8, 900}, {"index", 0.05, 0.05, 48}}, p.around(120'000));
    p.phase();
    p.run({{"index", 0, 1}, {"request", 0, 1}, {"reply", 0, 1}}, p.around(30'000));
    return p;
}

// Lexes, parses, optimises, writes code; the tree lives to the end. Some subsystems work in several phases.
inline phased_program compiler(std::uint64_t seed) {
    phased_program p(seed);
    p.run({{"lexer", 1, 0.9, 40}, {"names", 0.3, 0, 24}}, p.around(40'000));
    p.phase();
    p.run({{"parser", 0.6, 0.6, 80}, {"tree", 1, 0, 96}, {"names", 0.1, 0, 24}}, p.around(70'000));
    p.phase();
    p.run({{"tree", 0.5, 0.5, 96}, {"sets", 1, 1, 160}, {"graph", 0.3, 0.25, 64}}, p.around(80'000));
    p.phase();
    p.run({{"code", 1, 0.5, 120}, {"sets", 0.3, 0.3, 160}, {"tree", 0, 0.1, 96}}, p.around(40'000));
    return p;
}

// Two levels of a game, each loaded, played and dropped: phases that come again.
inline phased_program game(std::uint64_t seed) {
    phased_program p(seed);
    for (int level = 0; level < 2; ++level) {
        p.phase();
        p.run({{"assets", 1, 0, 2000}, {"reader", 0.5, 0.5, 500}}, p.around(25'000));
        p.phase();
        p.run({{"particles", 1, 1, 48}, {"sound", 0.2, 0.2, 400}, {"assets", 0.02, 0.02, 2000}}, p.around(70'000));
        p.phase();
        p.run({{"assets", 0, 1}, {"particles", 0, 0.2}}, p.live_objects("assets"));
    }
    return p;
}

// The same subsystems with other weights, in bursts, with sizes of a heavy tail: only the mix changes.
inline phased_program batch(std::uint64_t seed) {
    phased_program p(seed);
    for (const double first : {0.75, 0.35}) {
        p.phase();
        const std::uint64_t until = p.event_count() + p.around(100'000);
        while (p.event_count() < until) {
            const bool is_first = static_cast<double>(p.below(1000)) < 1000 * first;
            p.run({{is_first ? "join" : "sort", 1, 1, 300}, {"rows", 0.3, 0.3, 3000}}, 1 + p.below(400));
        }
    }
    return p;
}

// One phase: a cache that only grows, with requests; a step in the number of its objects would be wrong.
inline phased_program ramp(std::uint64_t seed) {
    phased_program p(seed);
    p.run({{"cache", 0.5, 0.1, 500}, {"request", 1, 1, 200}}, p.around(200'000));
    return p;
}

// One phase: cycles of four stages, of different lengths, and sessions whose number wanders at random.
inline phased_program cycles(std::uint64_t seed) {
    phased_program p(seed);
    const std::uint64_t until = p.around(250'000);
    for (std::uint64_t wave = 0; p.event_count() < until; ++wave) {
        p.run({{"input", 1, 0, 100}}, p.around(200));
        p.run({{"work", 1, 1, 64}, {"session", 0.3, 0.3, 4000}}, p.around(300));
        p.run({{"input", 0, 1}, {"report", 0.5, 0.2, 700}}, p.around(200));
        p.run({{"report", 0, 1}}, p.live_objects("report"));
    }
    return p;
}

}  // namespace millpond::test
