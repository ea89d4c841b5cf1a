// SPDX-License-Identifier: BSL-1.0
// affinity: which subsystems are accessed together, and whether their objects were allocated together, too.
//
//   references of a thread ─▶ object ─▶ window: the last 32 distinct objects ─▶ visits, and which of them meet
//
//   window │ a1 b1 a2 b2 │    a1 meets b1, a2, b2; they are near where at most 256 bytes were allocated between them
//
// A visit of an object begins with a reference by a thread that has the object in its window no longer, and ends when
// the thread has referred to 32 other objects since. Two visits meet if they are in one window at one time. Counted
// are, for rows a and b, the visits of a that met at least one visit of b; and those that met one whose object is near:
// the program allocated at most `near_bytes` bytes (each size rounded up to 16) from the beginning of one object to
// that of the other. One pool that lays its blocks in the order of allocation places near objects within a few cache
// lines. Each visit counts once, so objects that stay in the window count little, and traversals much: what misses.
//
// Rows are the subjects that the caller chooses, rows_max at most; objects of all others take part as row `others`. On
// the diagonal of `near`, b = a: visits that met another object of their own, a traversal in the order of allocation.
//
// After the affinity graph of HALO (Savage and Jones, "HALO: Post-Link Heap-Layout Optimisation", CGO 2020), which
// derives from the temporal relationship graph of Calder et al. ("Cache-Conscious Data Placement", ASPLOS 1998). HALO's
// window is one of bytes accessed, and it joins contexts whose objects are allocated one after the other.
//
// Limits: objects that are freed and whose memory is used again lie elsewhere than in the order of allocation. A large
// object is one object, wherever in it the references are.
//
// touch: O(1) within a visit of the thread's latest objects, O(32) where a visit begins. Memory: 8 bytes for each id of
// object_map, 1 KiB a thread, rows². Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace millpond::attribution {

class affinity {
  public:
    static constexpr unsigned rows_max = 32, window_objects = 32;
    static constexpr std::uint64_t near_bytes = 256;

    // Visits of one row that met one of another.
    struct met_visits {
        std::uint64_t together = 0, near = 0;
    };

    // What one thread referred to last.
    struct window {
        std::uint64_t latest = 0;                                                             // object's birth
        std::uint64_t clock = 0;                                                              // of uses
        unsigned used = 0;                                                                    // slots
        std::array<std::uint64_t, window_objects> births{}, last_uses{}, together{}, near{};  // bits of rows
        std::array<std::uint8_t, window_objects> rows{};
    };

    // Row i is subject chosen[i], each once. Without any, nothing is counted.
    explicit affinity(const std::vector<std::uint32_t>& chosen = {});

    unsigned rows() const { return rows_; }
    unsigned others() const { return rows_; }
    // The subject of a row.
    std::uint32_t subject(unsigned row) const { return chosen_[row]; }

    // An object that is known by `id` begins.
    void begin(std::uint32_t id, std::uint64_t bytes) {
        if (rows_ == 0) return;
        if (id >= births_.size()) births_.resize(std::max<std::size_t>(2 * births_.size(), id + std::size_t{1}));
        births_[id] = allocated_bytes_;
        allocated_bytes_ += std::max<std::uint64_t>((bytes + 15) & ~std::uint64_t{15}, 16);
    }
    // The thread of the window refers to a live object of the subject.
    void touch(window& of, std::uint32_t id, std::uint32_t subject) {
        if (rows_ == 0 || births_[id] == of.latest) return;
        refer(of, births_[id], subject);
    }
    // The thread refers to nothing more.
    void finish(window& of);

    std::uint64_t visits(unsigned row) const { return visits_[row]; }
    // Of the visits of row `a`, those that met one of row `b`.
    met_visits met(unsigned a, unsigned b) const { return met_[a * (rows_ + 1) + b]; }

  private:
    void refer(window& of, std::uint64_t birth, std::uint32_t subject);
    void settle(const window& of, unsigned slot);

    std::vector<std::uint32_t> chosen_;
    unsigned rows_;
    std::vector<std::uint8_t> row_of_;   // by subject, as far as a row has one
    std::vector<std::uint64_t> births_;  // by id; unique, and never 0
    std::uint64_t allocated_bytes_ = 16;
    std::vector<std::uint64_t> visits_;  // by row, others last
    std::vector<met_visits> met_;        // (rows + 1)²
};

}  // namespace millpond::attribution
