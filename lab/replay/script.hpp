// SPDX-License-Identifier: BSL-1.0
// script: the file between the two steps of a replay. It holds a trace's events as records of one size, ready to be
// played.
//
//   │ header │ block │ 4096 records │ block │ 4096 records │ … │ pools │
//              ▲ count, time, checksum
//   record   bytes 48 │ pool 16   slot 32 │ thread 16 │ alignment 6 │ operation 3 │ zeroed 1
//
// Addresses are replaced by slots, and slots are reused: the table of a player is as large as the most objects that
// live at once. A free repeats its object's bytes, alignment and pool, so that the table holds only pointers. Records
// stand in the total order of the trace. A script is used on one machine: native byte order, one version. Its header is
// written last, so that an incomplete script is recognised. Trivially copyable.
//
// A realloc is two records of one thread and one slot, next to one another in that thread's order:
//   resize_from   the object's account ends here, in the total order; its memory stays
//   resize_to     the memory is resized, and the object's new account begins
// or `drop` in the place of resize_to, if the trace has no second half: the memory is freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::replay {

enum class operation : std::uint8_t { free, allocate, resize_from, resize_to, drop, thread_end };
inline constexpr unsigned operations = 6;

// Pool 0 is the malloc of the process; every other pool is an allocator of its own.
inline constexpr std::uint16_t malloc_pool = 0;

class record {
  public:
    static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 44) - 1;  // as the characterisation counts
    static constexpr unsigned alignment_log2_max = 30;

    record() = default;
    record(operation op, std::uint32_t slot, std::uint64_t bytes, unsigned alignment_log2, std::uint16_t pool,
           std::uint16_t thread, bool zeroed = false)
        : what_(bytes | std::uint64_t{pool} << 48),
          which_(slot | std::uint64_t{thread} << 32 | std::uint64_t{alignment_log2} << 48 |
                 std::uint64_t{static_cast<std::uint8_t>(op)} << 54 | std::uint64_t{zeroed} << 57) {}

    std::uint64_t bytes() const { return what_ & ((std::uint64_t{1} << 48) - 1); }
    std::uint16_t pool() const { return static_cast<std::uint16_t>(what_ >> 48); }
    std::uint32_t slot() const { return static_cast<std::uint32_t>(which_); }
    std::uint16_t thread() const { return static_cast<std::uint16_t>(which_ >> 32); }
    unsigned alignment_log2() const { return which_ >> 48 & 63; }  // 0: what malloc guarantees
    operation op() const { return static_cast<operation>(which_ >> 54 & 7); }
    bool zeroed() const { return (which_ >> 57 & 1) != 0; }
    bool has_rest() const { return which_ >> 58 != 0; }  // bits that no writer sets

  private:
    std::uint64_t what_, which_;
};
static_assert(sizeof(record) == 16);

struct script_header {
    static constexpr std::uint64_t magic_value = 0x594C50444E4F504D;  // "MPONDPLY"
    static constexpr std::uint32_t version_value = 2;
    enum flag : std::uint32_t { of_a_plan = 1 };

    std::uint64_t magic;
    std::uint32_t version, flags;
    std::uint64_t records, blocks;
    std::uint32_t slots, threads, pools;
    std::uint32_t build;  // of the program that wrote it: sizeof(record) and the like may change
    std::uint64_t peak_live_bytes, peak_live_objects, end_live_bytes;
    std::uint64_t span_ns;  // from the first event to the last
    std::uint64_t pools_at, pools_checksum;
    std::uint64_t checksum;  // of all before it
};

struct script_block {
    static constexpr std::uint32_t records_max = 4096;

    std::uint32_t count, reserved;
    std::uint64_t time_ns;   // of its first record, since the first event
    std::uint64_t checksum;  // of its records, begun with the two fields above
};

struct script_pool {
    std::uint32_t shared;  // 1: more than one thread allocates from it or frees to it
    std::uint32_t reserved;
    std::uint64_t objects;
};

// A fast checksum against damage, not against malice. `bytes` is a multiple of 8.
inline std::uint64_t checksum(const void* data, std::size_t bytes, std::uint64_t seed = 0) {
    const auto* at = static_cast<const unsigned char*>(data);
    std::uint64_t sum = seed ^ 0x9E3779B97F4A7C15u;
    for (std::size_t i = 0; i < bytes; i += 8) {
        std::uint64_t word;
        __builtin_memcpy(&word, at + i, 8);
        sum = (sum ^ word) * 0xD6E8FEB86659FD93u;
        sum ^= sum >> 32;
    }
    return sum;
}

// `number`: the block's in its script, so that exchanged blocks are found.
inline std::uint64_t checksum_of(const script_block& block, const record* records, std::uint64_t number) {
    const std::uint64_t seed = (block.time_ns * 31 + block.count) * 31 + number;
    return checksum(records, block.count * sizeof(record), seed);
}

}  // namespace millpond::replay
