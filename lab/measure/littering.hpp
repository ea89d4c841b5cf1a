// SPDX-License-Identifier: BSL-1.0
// heap_litter: leaves the process's heap as a program would that has been running for long.
//
//   note: sizes that a workload asks for   │24│517│24│88│…      its own run, not measured
//   hold: a block of each, in that order   │██│████████│██│███│   all deletes held back
//   free_fraction: some of them, at random │██│▒▒▒▒▒▒▒▒│██│▒▒▒│   now the measured run begins, and fills the holes
//
// After the heap littering of "Measuring allocator impact on C++ programs" (instrument new and delete, run with delete
// disabled, free a fraction at random). Use it before anything is measured, for all contenders of a comparison alike.
// Blocks are malloc'ed and written whole. What is noted after the first 256 MiB or 16 Mi blocks is left out: by then
// the heap is littered. Books are kept outside the heap. Blocks that were not freed go with the object.
//
// note: O(1), thread-safe. hold, free_fraction, picture: O(bytes), O(blocks), O(blocks); one thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millpond::measure {

class heap_litter {
  public:
    static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
    static constexpr std::uint64_t most_blocks = std::uint64_t{16} << 20;

    // Throws: std::bad_alloc.
    heap_litter();
    heap_litter(const heap_litter&) = delete;
    heap_litter& operator=(const heap_litter&) = delete;
    ~heap_litter();

    // Effects: a block of this size will be held, unless there is enough already.
    void note(std::size_t bytes) noexcept;
    // Effects: allocates what was noted. Once. Throws: std::bad_alloc.
    void hold();
    // Effects: frees the fraction, from 0 to 1, of the blocks that are held, drawn and ordered at random. Returns: how
    // many.
    std::uint64_t free_fraction(double fraction, std::uint64_t seed) noexcept;

    // A piece of the heap, in lines.
    static constexpr std::size_t pictured_lines = 1024, line_bytes = 64;
    using lines = std::array<double, pictured_lines>;
    // Returns: the share of each line that blocks hold, of the 64 KiB that begin in the middle of all blocks.
    // Throws: std::bad_alloc.
    [[nodiscard]] lines picture() const;

    [[nodiscard]] std::uint64_t noted_blocks() const noexcept;
    [[nodiscard]] std::uint64_t noted_bytes() const noexcept;
    [[nodiscard]] std::uint64_t held_blocks() const noexcept { return held_; }

  private:
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> noted_ = 0;
    std::uint64_t held_ = 0;
    std::uint32_t* sizes_ = nullptr;
    void** blocks_ = nullptr;
};

}  // namespace millpond::measure
