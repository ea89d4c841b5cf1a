// SPDX-License-Identifier: BSL-1.0
// memory_levels: the caches and translation buffers between this machine's processor and its memory.
//
//   /sys/devices/system/cpu/cpu0/cache/index*  ──▶ data_caches          level, bytes, ways, line
//   cpuid (leaf 18h; AMD: 80000005h, 80000006h) ──▶ translation_buffers  level, entries, ways, page
//
// Use them to describe a machine to a simulator. A virtual machine shows only what its host exposes; the rest is left
// out. Not for instruction caches. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace millpond::measure {

struct data_cache {
    unsigned level;
    std::uint64_t bytes;
    unsigned ways, line_bytes;
};

// A buffer for data, for pages of 4 KiB.
struct translation_buffer {
    unsigned level, entries, ways;
};

// eax, ebx, ecx, edx of a leaf and sub-leaf.
using cpuid_registers = std::array<std::uint32_t, 4>;
using cpuid_function = std::function<cpuid_registers(std::uint32_t leaf, std::uint32_t sub_leaf)>;

// Executes this processor's cpuid; all zero for a leaf that it lacks.
cpuid_registers cpuid_of_this_processor(std::uint32_t leaf, std::uint32_t sub_leaf);

// The data and unified caches of the first processor, from the innermost outwards. `root` replaces / in tests.
std::vector<data_cache> data_caches(const std::string& root = "");

// From the innermost outwards; empty if the processor does not describe them. The ways always divide the entries.
std::vector<translation_buffer> translation_buffers(const cpuid_function& cpuid = cpuid_of_this_processor);

}  // namespace millpond::measure
