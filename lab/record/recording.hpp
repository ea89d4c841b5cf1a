// SPDX-License-Identifier: BSL-1.0
// recording: what millpond-record and the recorders inside the recorded processes share through files of FILE.partial.
//
//   FILE.partial/recording        one page, mapped by all: limits in, bytes written out
//   FILE.partial/PID.IMAGE.raw    closed blocks of one process image
//   FILE.partial/PID.IMAGE.open   header page (mpt_open_header, counters), then a slot for each open block
//
// Everything in these structures survives the death of its writer; counters are updated atomically.
#pragma once

#include <cstdint>

#include "lab/trace/format.h"

namespace millpond::record {

// Environment variable that names FILE.partial (absolute) to a recorded process.
inline constexpr char variable[] = "MILLPOND_RECORD";

struct recording {
    static constexpr std::uint32_t expected_magic = 0x5254504D;  // "MPTR"
    static constexpr std::uint32_t expected_version = 1;

    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t bytes_max;  // of all raw files together; 0: no limit
    std::uint64_t bytes_written;
    std::uint32_t check_interval;  // one event in this many, on average, is compared with an uncached walk
    std::uint32_t stopped;         // errno of the first failure to write, 1: bytes_max was reached
    std::int32_t root_pid;
};

// Of one process image; lies in the open file's header page.
struct counters {
    static constexpr std::uint64_t offset = 64;  // behind mpt_open_header

    std::uint64_t events_lost;
    std::uint64_t allocations_failed;
    std::uint64_t aliasing_sampled;
    std::uint64_t aliasing_differed;
    std::uint64_t aliasing_differed_deep;
    std::uint32_t stopped;  // as in recording
    std::uint32_t exited;   // 1: the process came to its end by itself
};

}  // namespace millpond::record
