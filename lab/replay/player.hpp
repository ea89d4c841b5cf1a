// SPDX-License-Identifier: BSL-1.0
// player: plays records on one heap; its loop is what a round measures.
//
//   record ─▶ heap (malloc, pools, nothing) ─▶ block ─▶ slots[record.slot()], touched
//
// Use play() for a run of records that are known to be in order (script_source checks that). The loop prefetches the
// slots of later records, because a program has its pointer ready when it frees. It stops if the heap has no memory. In
// dependency order several threads have a player each, over the same slots. O(1) a record, and the heap's and the
// touch's own cost. Thread-safe if the heap is and no two threads play one slot at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lab/replay/heaps.hpp"
#include "lab/replay/script.hpp"
#include "lab/replay/touch.hpp"

namespace millpond::replay {

enum class play_state : std::uint8_t { going, out_of_memory, misaligned, overwritten };

// Returns why a round ended early, as a half-sentence; null if it did not.
inline const char* words_of(play_state state) {
    switch (state) {
        case play_state::going:
            return nullptr;
        case play_state::out_of_memory:
            return "ran out of memory";
        case play_state::misaligned:
            return "gave a block that is not aligned as it was asked for";
        default:
            return "let a live block be overwritten";
    }
}

template <class Heap, touch Touch>
class player {
  public:
    // `pending`: room for the objects that each of the script's threads resizes; only that thread uses it.
    player(Heap& heap, void** slots, record* pending) : heap_(heap), slots_(slots), pending_(pending) {}

    // Plays them in order. Returns: the number played; if it is smaller, state() has the reason.
    std::size_t play(std::span<const record> records) noexcept {
        constexpr std::size_t ahead = 16;
        for (std::size_t i = 0; i < records.size(); ++i) {
            if (i + ahead < records.size()) __builtin_prefetch(slots_ + records[i + ahead].slot(), 1);
            if (!play(records[i])) [[unlikely]]
                return i;
        }
        return records.size();
    }

    // Returns: false if it could not be played.
    bool play(const record& r) noexcept {
        void*& at = slots_[r.slot()];
        switch (r.op()) {
            case operation::allocate:
                return begin(at = heap_.allocate(r), r, 0);
            case operation::free:
                if (!ends_well(at, r)) return false;
                heap_.deallocate(r, at);
                at = nullptr;
                return true;
            case operation::resize_from:
                pending_[r.thread()] = r;
                return ends_well(at, r);
            case operation::resize_to:
                return resize(at, r);
            case operation::drop:
                heap_.deallocate(r, at);
                at = nullptr;
                return true;
            default:
                return true;
        }
    }

    play_state state() const { return state_; }

  private:
    bool resize(void*& at, const record& to) noexcept {
        const record& from = pending_[to.thread()];
        const std::size_t kept = from.bytes() < to.bytes() ? from.bytes() : to.bytes();
        void* const moved = heap_.resize(from, to, at);
        if (moved != nullptr) {
            at = moved;
            if (Touch == touch::check && !Heap::is_null && !is_filled(moved, kept, to.slot()))
                return stop(play_state::overwritten);
        }
        return begin(moved, to, kept);
    }

    // The first `kept` bytes have been written before.
    bool begin(void* block, const record& r, std::size_t kept) noexcept {
        if (block == nullptr) [[unlikely]]
            return stop(play_state::out_of_memory);
        if constexpr (Touch == touch::line) {
            write_lines<Heap::is_null ? null_heap::scratch_bytes : 0>(block, kept, r.bytes());
        } else if constexpr (Touch == touch::check && !Heap::is_null) {
            const auto alignment =
                r.alignment_log2() == 0 ? std::uintptr_t{8} : std::uintptr_t{1} << r.alignment_log2();
            if (r.op() == operation::allocate && (reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) != 0 &&
                r.bytes() >= alignment)
                return stop(play_state::misaligned);
            fill(block, r.bytes(), r.slot());
        }
        return true;
    }

    bool ends_well(const void* block, const record& r) noexcept {
        if constexpr (Touch == touch::check && !Heap::is_null)
            if (block != nullptr && !is_filled(block, r.bytes(), r.slot())) return stop(play_state::overwritten);
        return true;
    }

    [[gnu::cold]] bool stop(play_state why) noexcept {
        state_ = why;
        return false;
    }

    Heap& heap_;
    void** slots_;
    record* pending_;
    play_state state_ = play_state::going;
};

}  // namespace millpond::replay
