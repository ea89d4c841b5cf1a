// SPDX-License-Identifier: BSL-1.0
// affinity: counts which subsystems are accessed together, and whether their objects were also allocated together.
//
//   references of a thread ─▶ object ─▶ window: the last 32 distinct objects ─▶ visits, and which of them meet
//
//   window │ a1 b1 a2 b2 │    a1 meets b1, a2, b2; they are near where at most 256 bytes were allocated between them
//
// A visit of an object begins with a reference by a thread whose window does not hold the object. It ends when the
// thread has referred to 32 other objects since. Two visits meet if they are in one window at the same time. For rows a
// and b, this class counts the visits of a that met at least one visit of b, and those that met one whose object is
// near. Near means: the program allocated at most `near_bytes` bytes (each size rounded up to 16) from the beginning of
// one object to that of the other. A pool that places blocks in the order of allocation puts near objects within a few
// cache lines. Each visit counts once: objects that stay in the window count little, traversals (which miss) count
// much.
//
// Rows are the subjects that the caller chooses, at most rows_max; the objects of all others share the row `others`.
// The diagonal of `near` (b = a) counts visits that met another object of the same row: a traversal in the order of
// allocation.
//
// Modelled on the affinity graph of HALO (Savage and Jones, "HALO: Post-Link Heap-Layout Optimisation", CGO 2020),
// which derives from the temporal relationship graph of Calder et al. ("Cache-Conscious Data Placement", ASPLOS 1998).
// HALO's window is measured in bytes accessed, and HALO joins contexts whose objects are allocated one after the other.
//
// Limits: an object in reused memory does not lie in the order of allocation. A large object counts as one object,
// wherever in it the references go.
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

    // The number of visits of one row that met a visit of another.
    struct met_visits {
        std::uint64_t together = 0, near = 0;
    };

    // The latest objects that one thread referred to.
    struct window {
        std::uint64_t latest = 0;  // birth of the latest object
        std::uint64_t clock = 0;   // counts uses
        unsigned used = 0;         // slots in use
        // together, near: bits of rows
        std::array<std::uint64_t, window_objects> births{}, last_uses{}, together{}, near{};
        std::array<std::uint8_t, window_objects> rows{};
    };

    // Row i counts subject chosen[i]; each subject appears once. With an empty list, nothing is counted.
    explicit affinity(const std::vector<std::uint32_t>& chosen = {});

    unsigned rows() const { return rows_; }
    unsigned others() const { return rows_; }
    // Returns the subject of a row.
    std::uint32_t subject(unsigned row) const { return chosen_[row]; }

    // Notes the beginning of an object with this id.
    void begin(std::uint32_t id, std::uint64_t bytes) {
        if (rows_ == 0) return;
        if (id >= births_.size()) births_.resize(std::max<std::size_t>(2 * births_.size(), id + std::size_t{1}));
        births_[id] = allocated_bytes_;
        allocated_bytes_ += std::max<std::uint64_t>((bytes + 15) & ~std::uint64_t{15}, 16);
    }
    // Notes a reference of the window's thread to a live object of the subject.
    void touch(window& of, std::uint32_t id, std::uint32_t subject) {
        if (rows_ == 0 || births_[id] == of.latest) return;
        refer(of, births_[id], subject);
    }
    // Ends the window: its thread makes no more references.
    void finish(window& of);

    std::uint64_t visits(unsigned row) const { return visits_[row]; }
    // Returns the number of visits of row `a` that met one of row `b`.
    met_visits met(unsigned a, unsigned b) const { return met_[a * (rows_ + 1) + b]; }

  private:
    void refer(window& of, std::uint64_t birth, std::uint32_t subject);
    void settle(const window& of, unsigned slot);

    std::vector<std::uint32_t> chosen_;
    unsigned rows_;
    std::vector<std::uint8_t> row_of_;   // by subject, for subjects with a row
    std::vector<std::uint64_t> births_;  // by id; unique, and never 0
    std::uint64_t allocated_bytes_ = 16;
    std::vector<std::uint64_t> visits_;  // by row; `others` is last
    std::vector<met_visits> met_;        // (rows + 1)²
};

}  // namespace millpond::attribution
