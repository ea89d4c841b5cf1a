// SPDX-License-Identifier: BSL-1.0
// random_events: events of every kind: all operations, alignments, byte addresses, sampled and unsampled times,
// durations, notes, and numbers of every length that the format can store.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "recording.hpp"

namespace millpond::test {

class random_events {
  public:
    random_events(std::uint64_t seed, std::uint32_t threads, std::uint32_t contexts)
        : random_(seed), last_(threads + 1, {1, 0}), contexts_(contexts) {}

    // Adds `count` events to the recording and returns them, in the order in which they were recorded.
    std::vector<trace::event> record(recording& to, std::size_t count) {
        std::vector<trace::event> events;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t thread = 1 + below(static_cast<std::uint32_t>(last_.size() - 1));
            stream& s = last_[thread];
            const bool timed = below(16) != 0;
            if (timed) s.time += below(3) ? below(200) : any_length(40);
            trace::event e{s.time, 0, 0, 0, thread, 0, static_cast<trace::operation>(below(5)), 0, false};
            fill(e, s);
            to.add(e, timed);
            events.push_back(e);
        }
        return events;
    }

  private:
    struct stream {
        std::uint64_t time, address;
    };

    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
    std::uint64_t any_length(unsigned bits) { return random_() >> (64 - 1 - below(bits)); }

    void fill(trace::event& e, stream& s) {
        if (e.op == trace::operation::note) {
            e.bytes = any_length(64);
            e.address = any_length(64);
            return;
        }
        switch (below(4)) {
            case 0:
                s.address = any_length(64);
                break;
            case 1:
                s.address += below(64);
                break;
            default:
                s.address += 16 * static_cast<std::uint64_t>(below(100)) - 800;
                break;
        }
        e.address = s.address;
        if (below(8) == 0) e.duration_ticks = static_cast<std::uint32_t>(any_length(32));
        if ((static_cast<unsigned>(e.op) & 1) == 0) return;
        e.bytes = below(4) ? below(300) : any_length(64);
        e.context = below(contexts_);
        e.zeroed = below(4) == 0;
        if (below(8) == 0) e.alignment_log2 = static_cast<std::uint8_t>(1 + below(63));
    }

    std::mt19937_64 random_;
    std::vector<stream> last_;
    std::uint32_t contexts_;
};

// Returns nodes 1 … count, each below one with a smaller number.
inline std::vector<trace::context_node> random_contexts(std::uint64_t seed, std::uint32_t count) {
    std::mt19937_64 random(seed);
    std::vector<trace::context_node> nodes;
    for (std::uint32_t id = 1; id <= count; ++id)
        nodes.push_back({static_cast<std::uint32_t>(random() % id), static_cast<std::uint32_t>(random() % 3),
                         random() >> (random() % 64)});
    return nodes;
}

}  // namespace millpond::test
