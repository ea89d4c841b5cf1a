// SPDX-License-Identifier: BSL-1.0
// whole_lru: a fully associative cache that evicts its least recently used line.
//
//   line ──▶ known_blocks ──▶ place │ outside
//   latest ─▶ d ─▶ a ─▶ c ─▶ b ─ earliest        the places are a ring: the one before the latest is the earliest
//
// A use is O(1), where the ways of a set_cache are searched one by one. It also knows the lines that it has lost, so it
// tells the first use of a line from a later one. Memory: 16 bytes a line of the cache, 32 to 64 bytes for each distinct
// line. Not thread-safe.
#pragma once

#include "lab/simulate/known_blocks.hpp"
#include "lab/simulate/line_walk.hpp"

namespace millpond::simulate {

class whole_lru {
  public:
    // The place of a line before its use. `flushed`: not used since the last flush; `cold`: never used.
    enum class place : uint8_t { inside, outside, flushed, cold };

    // `lines`: 1 or more.
    whole_lru(const host& system, uint64_t lines) : ring_(system, lines), known_(system) { flush(); }

    // Uses a line: it becomes the latest. If it was not inside, the earliest one leaves.
    place use(uint64_t line) {
        if (ring_[latest_].line == line) return place::inside;
        state& own = known_[line];
        if (own.flushes == flushes_ && ring_[own.at].line == line) {
            make_latest(own.at);
            return place::inside;
        }
        const place was = own.flushes == flushes_ ? place::outside : own.flushes == 0 ? place::cold : place::flushed;
        latest_ = ring_[latest_].before;
        ring_[latest_].line = line;
        own = {latest_, flushes_};
        return was;
    }

    // Empties the cache. O(lines of the cache).
    void flush() {
        const auto lines = static_cast<uint32_t>(ring_.size());
        for (uint32_t i = 0; i < lines; ++i) ring_[i] = {no_line, (i + lines - 1) % lines, (i + 1) % lines};
        latest_ = 0;
        ++flushes_;
    }

  private:
    struct link {
        uint64_t line;
        uint32_t before, after;  // towards the latest; towards the earliest. The ring joins the two
    };
    struct state {
        uint32_t at;       // in the ring; another line is there if it has left
        uint32_t flushes;  // when it was used; 0: never
    };

    void make_latest(uint32_t at) {
        link& own = ring_[at];
        if (at == ring_[latest_].before) {  // the earliest: the ring turns
            latest_ = at;
            return;
        }
        ring_[own.before].after = own.after;
        ring_[own.after].before = own.before;
        link& head = ring_[latest_];
        own.before = head.before;
        own.after = latest_;
        ring_[head.before].after = at;
        head.before = at;
        latest_ = at;
    }

    array<link> ring_;
    known_blocks<state> known_;
    uint32_t latest_ = 0, flushes_ = 0;
};

}  // namespace millpond::simulate
