// SPDX-License-Identifier: BSL-1.0
// slot_chunks: rows of slots that come from a block source and go back to it one by one.
//
//   small row, 1 KiB     │taken│slot│slot│ … │
//   chunks, 4 KiB each   │taken│slot│slot│slot│ … │    │taken│slot│slot│ … │        taken: a bit for each slot, 1 taken
//                                              ▲ at any address; slot_directory finds the chunk of a slot
//
// compact_pool begins in it, and stays in it if all memory must come from the source. Chunks have the size of a page
// (more for slots above 512 bytes), because small chunks become empty: when 999 of 1000 slots are freed at random, 0.03
// % of chunks with 8192 slots are empty, and 60 % of those with 512. The lowest empty chunk is kept; any other goes
// back at once.
//
// The pool manages each leaf, a word of taken bits, and may keep one of them in a register. leaf_of: O(1). add_row,
// give_back: one call of the source. Not thread-safe. Ownership: of the rows; each call names the source.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "../../core/abi.hpp"
#include "../../core/concepts.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "slot_directory.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// A word of taken bits, the slot of its lowest bit, and how many bits are slots.
template <class Word>
struct slot_leaf {
    Word* taken = nullptr;
    char* first = nullptr;
    std::size_t slots = 0;
};

template <class Shape>
class slot_chunks {
    using word = typename Shape::word;
    static constexpr unsigned bits = std::numeric_limits<word>::digits;
    static constexpr std::size_t slot_bytes = Shape::bytes;

  public:
    using leaf = slot_leaf<word>;

    static constexpr word all = std::numeric_limits<word>::max();
    static constexpr std::size_t row_alignment =
        Shape::alignment < default_alignment ? default_alignment : Shape::alignment;
    static constexpr std::size_t chunk_bytes = slot_bytes <= 512
                                                   ? slot_window::frame_bytes
                                                   : align_up(8 * slot_bytes + row_alignment, slot_window::frame_bytes);

    [[nodiscard]] static constexpr std::size_t words_for(std::size_t slots) noexcept {
        return (slots + bits - 1) / bits;
    }
    // Returns: the bytes before the first slot of a row that has `slots`.
    [[nodiscard]] static constexpr std::size_t header_for(std::size_t slots) noexcept {
        return align_up(words_for(slots) * sizeof(word), Shape::alignment);
    }
    [[nodiscard]] static constexpr std::size_t slots_in(std::size_t row_bytes) noexcept {
        std::size_t slots = row_bytes / slot_bytes;
        while (slots > 0 && header_for(slots) + slots * slot_bytes > row_bytes) --slots;
        return slots;
    }

    static constexpr std::size_t chunk_slots = slots_in(chunk_bytes);
    static constexpr std::size_t small_bytes = slot_bytes <= 128 ? 1024 : chunk_bytes;
    static constexpr std::size_t small_slots = slots_in(small_bytes);

    slot_chunks() = default;
    slot_chunks(const slot_chunks&) = delete;
    slot_chunks& operator=(const slot_chunks&) = delete;

    // A row of slots.
    struct row {
        char* start = nullptr;
        std::size_t slots = 0;

        [[nodiscard]] word* taken() const noexcept { return reinterpret_cast<word*>(start); }
        [[nodiscard]] char* first() const noexcept { return start + header_for(slots); }
        [[nodiscard]] leaf leaf_at(std::size_t n) const noexcept {
            const std::size_t rest = slots - n * bits;
            return {taken() + n, first() + n * bits * slot_bytes, rest < bits ? rest : bits};
        }
        // Returns: the slot at an address.
        [[nodiscard]] std::size_t slot_of(const void* address) const noexcept {
            return static_cast<std::size_t>(static_cast<const char*>(address) - first()) / slot_bytes;
        }
        // Returns: the word of a leaf in which no slot is taken: ones for slots that do not exist.
        [[nodiscard]] word free_leaf(std::size_t n) const noexcept {
            const std::size_t behind = slots - n * bits;
            return behind >= bits ? word{0} : static_cast<word>(all << behind);
        }
    };

    // Returns: the row in which an address lies; start is null if it lies in none.
    [[nodiscard]] row row_of(const void* address) noexcept {
        const auto wanted = reinterpret_cast<std::uintptr_t>(address);
        if (wanted - reinterpret_cast<std::uintptr_t>(small_) < small_bytes && small_ != nullptr) return small();
        std::uintptr_t frame = wanted >> slot_window::frame_shift;
        for (std::size_t back = 0; back <= chunk_bytes / slot_window::frame_bytes; ++back, --frame) {
            const slot_window* const window = directory_.find(frame);
            const std::uintptr_t start = window == nullptr ? 0 : window->start_in(slot_window::place_of(frame));
            if (start != 0 && start <= wanted) {
                if (wanted - start >= chunk_bytes) break;
                return {reinterpret_cast<char*>(start), chunk_slots};
            }
        }
        return {};
    }

    // Returns: the leaf with the lowest free slot of all rows; taken is null if no slot is free.
    [[nodiscard]] leaf lowest_open() noexcept {
        leaf in_small = small_ == nullptr ? leaf{} : open_leaf_of(small());
        for (;;) {
            const std::uintptr_t start = directory_.lowest_open();
            if (start == 0) return in_small;
            const leaf found = open_leaf_of({reinterpret_cast<char*>(start), chunk_slots});
            if (found.taken != nullptr) {
                return in_small.taken != nullptr && in_small.first < found.first ? in_small : found;
            }
            directory_.find(start >> slot_window::frame_shift)
                ->fill(slot_window::place_of(start >> slot_window::frame_shift));
        }
    }

    // Effects: adds a row. Returns: its first leaf; taken is null if there is no memory, and nothing has changed.
    template <block_source Source>
    [[nodiscard]] leaf add_row(Source& source) noexcept {
        const bool is_small = small_ == nullptr;
        const std::size_t bytes = is_small ? small_bytes : chunk_bytes;
        void* const memory = source.try_allocate(bytes, row_alignment);
        if (memory == nullptr) return {};
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        if (is_small) {
            small_ = static_cast<char*>(memory);
        } else {
            slot_window* const window = directory_.window_for(source, address >> slot_window::frame_shift);
            if (window == nullptr) {
                source.deallocate(memory, bytes, row_alignment);
                return {};
            }
            window->add(address);
            directory_.open(*window, address >> slot_window::frame_shift);
            ++chunks_;
        }
        const row added{static_cast<char*>(memory), is_small ? small_slots : chunk_slots};
        clear(added);
        return added.leaf_at(0);
    }

    // Effects: notes that a leaf of this row, which may have been full, has a free slot.
    void open(const row& in) noexcept {
        if (in.start == small_) return;
        const std::uintptr_t frame = reinterpret_cast<std::uintptr_t>(in.start) >> slot_window::frame_shift;
        directory_.open(*directory_.find(frame), frame);
    }

    // Effects: notes that the lowest free slot is going to be used. If the spare chunk is not above it, the slot lies
    // in the spare chunk, because all its slots are free.
    void note_used(const char* slot) noexcept {
        if (spare_ != nullptr && slot >= spare_) spare_ = nullptr;
    }

    // Effects: if no slot of the row is taken, gives a chunk back: this one or the one kept before, whichever is
    // higher. A slot of the row has just been freed, so it is not the spare one.
    template <block_source Source>
    void give_back_if_empty(Source& source, const row& in) noexcept {
        if (in.start == small_ || !is_empty(in)) return;
        char* higher = in.start;
        if (spare_ == nullptr || spare_ > in.start) {
            higher = spare_;
            spare_ = in.start;
        }
        if (higher == nullptr) return;
        const std::uintptr_t frame = reinterpret_cast<std::uintptr_t>(higher) >> slot_window::frame_shift;
        slot_window* const window = directory_.find(frame);
        window->remove(slot_window::place_of(frame));
        --chunks_;
        give_back(source, higher, chunk_bytes);
        if (!window->has_chunks()) directory_.remove(source, window);
    }

    [[nodiscard]] static bool is_empty(const row& in) noexcept {
        for (std::size_t n = 0; n < words_for(in.slots); ++n) {
            if (in.taken()[n] != in.free_leaf(n)) return false;
        }
        return true;
    }

    // Effects: calls each(row) for every row.
    template <class Each>
    void for_each_row(Each each) const {
        if (small_ != nullptr) each(small());
        directory_.for_each([&](std::uintptr_t start) { each(row{reinterpret_cast<char*>(start), chunk_slots}); });
    }

    // Effects: frees all slots; the rows stay.
    void reset() noexcept {
        spare_ = nullptr;
        for_each_row([this](const row& each) {
            clear(each);
            open(each);
        });
    }

    // Effects: gives everything back to the source.
    template <block_source Source>
    void release(Source& source) noexcept {
        for_each_row(
            [&](const row& each) { give_back(source, each.start, each.start == small_ ? small_bytes : chunk_bytes); });
        directory_.release(source);
        forget();
    }

    // Effects: forgets everything, because the source itself has been released.
    void forget() noexcept {
        directory_.forget();
        small_ = spare_ = nullptr;
        chunks_ = 0;
    }

    [[nodiscard]] std::size_t row_bytes() const noexcept {
        return chunks_ * chunk_bytes + (small_ != nullptr ? small_bytes : 0);
    }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return row_bytes() + directory_.held_bytes(); }

  private:
    static_assert(chunk_slots > 0 && small_slots > 0);

    [[nodiscard]] row small() const noexcept { return {small_, small_slots}; }

    [[nodiscard]] static leaf open_leaf_of(const row& in) noexcept {
        for (std::size_t n = 0; n < words_for(in.slots); ++n) {
            if (in.taken()[n] != all) return in.leaf_at(n);
        }
        return {};
    }

    static void clear(const row& all_of) noexcept {
        for (std::size_t n = 0; n < words_for(all_of.slots); ++n) all_of.taken()[n] = all_of.free_leaf(n);
        poison(all_of.first(), all_of.slots * slot_bytes);
    }

    template <block_source Source>
    static void give_back(Source& source, char* start, std::size_t bytes) noexcept {
        unpoison(start, bytes);
        source.deallocate(start, bytes, row_alignment);
    }

    slot_directory directory_;
    char* small_ = nullptr;
    char* spare_ = nullptr;  // an empty chunk
    std::size_t chunks_ = 0;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
