// SPDX-License-Identifier: BSL-1.0
// block_heap: blocks of any size above a few KiB, cut from chunks; freed neighbours become one and serve every size.
//
//   chunk  │head│block……│head│▒▒▒▒ free ▒▒▒▒│head│block…│head│block……│end│      a head is one line of 64 bytes
//                        ▲
//   bins ────────────────┘     free runs by size, four bins an octave
//
// Why: with random sizes, a pool that keeps sizes apart holds the most that each size ever used. A block of more than 4
// KiB can afford a head, by which its neighbours are found. Blocks are aligned to 64. The heap requests no memory: its
// owner adds some, and takes all back by forgetting the heap, which has no destructor and may itself lie in a chunk.
//
// Part of multipool and synchronized_multipool. Under a memory checker there are 16 bytes of poison on both sides of a
// head's words.
//
// try_allocate: O(1) for sizes of four_an_octave; for others it looks at up to 16 runs. deallocate: O(1). absorb:
// O(bins). Not thread-safe.
//
// Example:
//     alignas(64) static char memory[50000];
//     millpond::detail::block_heap heap;
//     heap.add(memory, memory + sizeof memory);
//     void* a = heap.try_allocate(20000);
//     void* b = heap.try_allocate(20000);
//     assert(a != nullptr && b != nullptr && heap.try_allocate(20000) == nullptr);
//     heap.deallocate(a);
//     heap.deallocate(b);
//     assert(heap.try_allocate(45000) == a);  // they are one again
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/detail/alignment.hpp"
#include "../../core/detail/hardening.hpp"
#include "../../core/detail/sanitizer.hpp"
#include "../../core/four_an_octave.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class block_heap {
  public:
    static constexpr std::size_t line_bytes = 64;
    // Smaller blocks are better kept in rows of one size: a head would cost them too much.
    static constexpr std::size_t least_block_bytes = std::size_t{4} << 10;

    block_heap() noexcept = default;
    block_heap(const block_heap&) = delete;
    block_heap& operator=(const block_heap&) = delete;

    // Returns: the bytes from one block of `bytes` to the next one in a row of them.
    [[nodiscard]] static constexpr std::size_t spacing(std::size_t bytes) noexcept {
        return line_bytes + align_up(bytes, line_bytes);
    }

    // Returns: the bytes of memory, aligned as malloc aligns, that are sure to hold so many blocks of `bytes`.
    [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t blocks, std::size_t bytes) noexcept {
        return blocks * spacing(bytes) + 2 * line_bytes - default_alignment;
    }

    // Effects: adds the poisoned memory as one free run; it must hold at least one small block (bytes_for).
    void add(char* begin, char* end) noexcept { list(make_run(begin, end)); }

    // Returns: the memory as one block, poisoned, which may be given to any heap.
    [[nodiscard]] static void* single_block(char* begin, char* end) noexcept {
        head* const whole = make_run(begin, end);
        whole->next = nullptr;
        return whole->block();
    }

    // Returns: a poisoned block of at least `bytes`; or null if no free run holds one.
    [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept {
        const std::size_t wanted = spacing(bytes);
        unsigned bin = bin_of(wanted);
        head* found = find_in(bin, wanted);
        if (found == nullptr) {
            const std::uint64_t larger = filled_ >> bin >> 1;
            if (larger == 0) return nullptr;
            bin += 1 + static_cast<unsigned>(std::countr_zero(larger));
            found = find_in(bin, wanted);  // every run of a larger bin is long enough
        }
        cut(found, wanted, bin);
        found->next = nullptr;
        return found->block();
    }

    // Effects: frees the block, which is poisoned by now, and joins it with its free neighbours.
    void deallocate(void* block) noexcept {
        head* freed = head_of(block);
        if (is_hardened && !freed->is_sound()) misuse_found("the head of a block was overwritten", block);
        if (head* const after = freed->following(); !after->is_used()) freed->bytes += removed(after);
        if (freed->bytes_before != 0) {
            head* const before = head_at(freed->address() - freed->bytes_before);
            if (!before->is_used()) {
                unlist(before);
                before->bytes += freed->bytes;
                poison(freed, line_bytes);
                freed = before;
            }
        }
        freed->following()->bytes_before = freed->bytes;
        list(freed);
    }

    // Effects: takes over all free runs of `other`. Blocks of either may be given to this one.
    void absorb(block_heap& other) noexcept {
        for (unsigned bin = 0; bin < bin_count; ++bin) {
            head* const theirs = other.bins_[bin];
            if (theirs == nullptr) continue;
            other.bins_[bin] = nullptr;
            head*& ours = bins_[bin];
            if (ours != nullptr) {
                head* const last = ours->previous;
                last->next = theirs;
                ours->previous = theirs->previous;
                theirs->previous->next = ours;
                theirs->previous = last;
            } else {
                ours = theirs;
            }
        }
        filled_ |= other.filled_;
        other.filled_ = 0;
    }

  private:
    static constexpr std::size_t margin_bytes = 16;
    static constexpr std::size_t least_rest_bytes = 2 * line_bytes;
    static constexpr unsigned most_looked_at = 16;

    // The record before each block and each free run. Free runs of a bin form a ring, starting at the bin; a free run
    // that is too small for any bin is a ring of its own.
    struct alignas(line_bytes) head {
        unsigned char margin[margin_bytes];
        std::size_t bytes;         // to the next head; 0: this is the end of the chunk
        std::size_t bytes_before;  // of the run before; 0: this is the first
        head* next;                // null: the block is in use, or this is the end
        head* previous;

        [[nodiscard]] bool is_used() const noexcept { return next == nullptr; }
        [[nodiscard]] bool is_sound() const noexcept {
            return is_used() && bytes != 0 && bytes % line_bytes == 0 && following()->bytes_before == bytes;
        }
        [[nodiscard]] char* address() const noexcept { return reinterpret_cast<char*>(const_cast<head*>(this)); }
        [[nodiscard]] void* block() const noexcept { return address() + line_bytes; }
        [[nodiscard]] head* following() const noexcept { return head_at(address() + bytes); }
    };
    static_assert(sizeof(head) == line_bytes);

    // Bins hold runs by the largest block that fits, rounded down to a size of four_an_octave; the last bin has all
    // larger.
    using sizes = four_an_octave<std::size_t{4} << 20, 1024>;
    static constexpr unsigned first_size = sizes::class_of(least_block_bytes, 1);
    static constexpr unsigned bin_count = sizes::count - first_size;
    static_assert(bin_count <= 64);

    [[nodiscard]] static constexpr unsigned bin_of(std::size_t run_bytes) noexcept {
        const std::size_t block = run_bytes - line_bytes;
        if (block >= sizes::largest) return bin_count - 1;
        return sizes::class_of(block + 1, 1) - 1 - first_size;
    }
    [[nodiscard]] static constexpr bool has_bin(std::size_t run_bytes) noexcept {
        return run_bytes >= line_bytes + least_block_bytes;
    }

    [[nodiscard]] static head* head_at(char* address) noexcept {
        return std::launder(reinterpret_cast<head*>(address));
    }
    [[nodiscard]] static head* head_of(void* block) noexcept { return head_at(static_cast<char*>(block) - line_bytes); }

    [[nodiscard]] static head* make_head(char* address, std::size_t bytes, std::size_t bytes_before) noexcept {
        unpoison(address + margin_bytes, sizeof(head) - 2 * margin_bytes);
        auto* const made = reinterpret_cast<head*>(address);
        made->bytes = bytes;
        made->bytes_before = bytes_before;
        made->next = nullptr;
        return made;
    }

    [[nodiscard]] static head* make_run(char* begin, char* end) noexcept {
        begin += padding_to(begin, line_bytes);
        end -= reinterpret_cast<std::uintptr_t>(end) % line_bytes + line_bytes;
        const auto bytes = static_cast<std::size_t>(end - begin);
        static_cast<void>(make_head(end, 0, bytes));
        return make_head(begin, bytes, 0);
    }

    // Returns: a free run of the bin of at least so many bytes, about the smallest, or null.
    [[nodiscard]] head* find_in(unsigned bin, std::size_t wanted) const noexcept {
        head* const first = bins_[bin];
        if (first == nullptr) return nullptr;
        head* best = nullptr;
        head* run = first;
        unsigned looked_at = 0;
        do {
            if (run->bytes >= wanted && (best == nullptr || run->bytes < best->bytes)) best = run;
            run = run->next;
            // In the last bin the search goes on until it finds a run that fits.
        } while (run != first && (++looked_at < most_looked_at || (best == nullptr && bin == bin_count - 1)));
        return best;
    }

    // Effects: takes the free run out of its bin; the part beyond `wanted` becomes a run of its own.
    void cut(head* run, std::size_t wanted, unsigned bin) noexcept {
        const std::size_t rest_bytes = run->bytes - wanted;
        if (rest_bytes < least_rest_bytes) return unlist(run);
        run->bytes = wanted;
        head* const rest = make_head(run->address() + wanted, rest_bytes, wanted);
        rest->following()->bytes_before = rest_bytes;
        if (!has_bin(rest_bytes) || bin_of(rest_bytes) != bin) {
            unlist_from(bin, run);
            return list(rest);
        }
        const bool is_alone = run->next == run;
        rest->next = is_alone ? rest : run->next;
        rest->previous = is_alone ? rest : run->previous;
        rest->next->previous = rest->previous->next = rest;
        if (bins_[bin] == run) bins_[bin] = rest;
    }

    void list(head* run) noexcept {
        run->next = run->previous = run;
        if (!has_bin(run->bytes)) return;
        const unsigned bin = bin_of(run->bytes);
        if (head* const first = bins_[bin]; first != nullptr) {
            run->next = first;
            run->previous = first->previous;
            first->previous->next = run;
            first->previous = run;
        }
        bins_[bin] = run;
        filled_ |= std::uint64_t{1} << bin;
    }

    void unlist(head* run) noexcept {
        if (has_bin(run->bytes)) unlist_from(bin_of(run->bytes), run);
    }
    void unlist_from(unsigned bin, head* run) noexcept {
        run->previous->next = run->next;
        run->next->previous = run->previous;
        if (bins_[bin] != run) return;
        bins_[bin] = run->next != run ? run->next : nullptr;
        if (bins_[bin] == nullptr) filled_ &= ~(std::uint64_t{1} << bin);
    }

    // Effects: makes the free run a part of the one before it. Returns: its bytes.
    [[nodiscard]] std::size_t removed(head* run) noexcept {
        unlist(run);
        const std::size_t bytes = run->bytes;
        poison(run, line_bytes);
        return bytes;
    }

    head* bins_[bin_count] = {};
    std::uint64_t filled_ = 0;  // a one for each bin that has a run
};

}  // namespace millpond::inline MILLPOND_ABI::detail
