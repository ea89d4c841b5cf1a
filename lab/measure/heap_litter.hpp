// SPDX-License-Identifier: BSL-1.0
// heap_litter: brings the process's heap into the state of a program that has been running for long.
//
//   note: sizes that a workload requests  │24│517│24│88│…      its own run, not measured
//   hold: a block of each, in that order   │██│████████│██│███│   all deletes held back
//   free_fraction: some of them, at random │██│▒▒▒▒▒▒▒▒│██│▒▒▒│   then the measured run fills the holes
//
// After the heap littering of "Measuring allocator impact on C++ programs" (instrument new and delete, run with delete
// disabled, free a fraction at random). Use it before anything is measured, in the same way for all contenders of a
// comparison. Blocks are malloc'ed and written whole. Blocks after the first 256 MiB or 16 Mi blocks are ignored: by
// then the heap is littered. Its own tables lie outside the heap. The destructor frees the remaining blocks.
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

    // Effects: a block of this size will be held, unless the limit is reached.
    void note(std::size_t bytes) noexcept;
    // Effects: allocates the noted blocks. Call once. Throws: std::bad_alloc.
    void hold();
    // Effects: frees the fraction, from 0 to 1, of the held blocks, in random order. Returns: their number.
    std::uint64_t free_fraction(double fraction, std::uint64_t seed) noexcept;

    // The size of the picture, in lines.
    static constexpr std::size_t pictured_lines = 1024, line_bytes = 64;
    using lines = std::array<double, pictured_lines>;
    // Returns: for each line of 64 KiB from the middle of all blocks, the share that blocks hold. Throws:
    // std::bad_alloc.
    [[nodiscard]] lines picture() const;

    [[nodiscard]] std::uint64_t noted_blocks() const noexcept;

  private:
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> noted_ = 0;
    std::uint64_t held_ = 0;
    std::uint32_t* sizes_ = nullptr;
    void** blocks_ = nullptr;
};

}  // namespace millpond::measure
