// SPDX-License-Identifier: BSL-1.0
// heap_scan: finds the live blocks of another process that no pointer in its memory reaches.
//
//   data, stacks, other mappings ─▶ words that are addresses within live blocks ─▶ the words of those ─▶ …
//   what is never reached is lost
//
// It is conservative: a word that only looks like an address keeps a block, and so does a stale one on a stack. Roots
// are all private writable mappings, except those in which the program has ever allocated (there, only live blocks
// count), the recorder's own, and the part of a stack below its thread's stack pointer. Not followed: pointers at odd
// addresses, in shared mappings, and ones that are coded (tagged in their upper bits, xored, compressed).
//
// The memory is read through process_vm_readv, so pages that vanish or may not be read are skipped, and the process is
// never disturbed. It should not run meanwhile. O(bytes of roots and live blocks, log live blocks for each address).
// Memory: 24 bytes a live block, 8 a page with an allocation. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::record {

// A process's heap, from its trace.
struct recorded_heap {
    struct block {
        std::uint64_t begin, bytes;
    };
    std::vector<block> live;
    std::vector<std::uint64_t> pages;  // numbers of those in which an allocation has ever begun
    std::uint64_t own_memory = 0;      // mpt_slot_process::own_memory

    static constexpr unsigned page_bytes_log2 = 12;
};

class heap_scan {
  public:
    using clock = std::chrono::steady_clock;

    // `process`: in our pid namespace. Throws program::failure from run() after `end`.
    heap_scan(pid_t process, recorded_heap heap, clock::time_point end);

    // Returns the addresses of the lost blocks, ascending. Throws program::failure if the process's memory cannot be
    // read, or the time is up. Call once.
    std::vector<std::uint64_t> run();

  private:
    struct range {
        std::uint64_t begin, end;
    };

    std::vector<range> find_roots();
    std::vector<range> find_own_memory();
    static void add_without(const std::vector<range>& left_out, range all, std::vector<range>& to);
    std::vector<std::uint64_t> stack_pointers() const;
    bool is_of_allocator(range mapping) const;
    void look_through(range part);
    void look_at(const std::uint64_t* words, std::size_t count);
    std::size_t read(std::uint64_t address, std::size_t bytes);

    const pid_t process_;
    recorded_heap heap_;
    const clock::time_point end_;
    std::vector<char> reached_;        // by block
    std::vector<std::uint32_t> next_;  // reached, but not looked through
    std::vector<std::uint64_t> buffer_;
    std::uint64_t bytes_read_ = 0;
};

}  // namespace millpond::record
