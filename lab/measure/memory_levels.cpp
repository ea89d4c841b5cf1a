// SPDX-License-Identifier: BSL-1.0
// The kernel's description of the caches, and the processors' two descriptions of their translation buffers.
#include "lab/measure/memory_levels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace millpond::measure {
namespace {

constexpr unsigned indices_max = 32, sub_leaves_max = 64;

std::string word_in(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

std::uint64_t number_in(const std::string& path) {
    const std::string word = word_in(path);
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(word.c_str(), &end, 10);
    if (*end == 'K') return value << 10;
    return *end == 'M' ? value << 20 : value;
}

// Rounds the ways to a divisor of the entries, because a simulated buffer needs one.
void add(std::vector<translation_buffer>& to, unsigned level, unsigned entries, unsigned ways) {
    if (entries == 0 || ways == 0) return;
    ways = std::min(ways, entries);
    while (entries % ways != 0) --ways;
    const auto same = [&](const translation_buffer& one) { return one.level == level; };
    if (std::none_of(to.begin(), to.end(), same)) to.push_back({level, entries, ways});
}

// Deterministic address translation parameters: one sub-leaf for each buffer.
std::vector<translation_buffer> from_leaf_18(const cpuid_function& cpuid) {
    std::vector<translation_buffer> found;
    const std::uint32_t last = std::min<std::uint32_t>(cpuid(0x18, 0)[0], sub_leaves_max);
    for (std::uint32_t sub_leaf = 0; sub_leaf <= last; ++sub_leaf) {
        const auto [eax, ebx, sets, edx] = cpuid(0x18, sub_leaf);
        const std::uint32_t kind = edx & 31, level = (edx >> 5) & 7, ways = ebx >> 16;
        const bool for_loads = kind == 1 || kind == 3 || kind == 4, for_small_pages = (ebx & 1) != 0;
        if (for_loads && for_small_pages) add(found, level, ways * sets, ways);
    }
    return found;
}

// Decodes AMD's code for the ways of a second-level buffer; zero if there is no such buffer.
unsigned ways_of_code(std::uint32_t code, unsigned entries) {
    constexpr unsigned ways[] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128};
    return code == 15 ? entries : ways[code];
}

std::vector<translation_buffer> from_amd(const cpuid_function& cpuid) {
    std::vector<translation_buffer> found;
    const std::uint32_t first = cpuid(0x80000005, 0)[1], second = cpuid(0x80000006, 0)[1];
    const unsigned entries = (first >> 16) & 255, ways = first >> 24;
    add(found, 1, entries, ways == 255 ? entries : ways);
    const unsigned more = (second >> 16) & 4095;
    add(found, 2, more, ways_of_code(second >> 28, more));
    return found;
}

}  // namespace

cpuid_registers cpuid_of_this_processor(std::uint32_t leaf, std::uint32_t sub_leaf) {
    cpuid_registers found = {};
#if defined(__x86_64__)
    if (__get_cpuid_count(leaf, sub_leaf, &found[0], &found[1], &found[2], &found[3]) == 0) found = {};
#else
    static_cast<void>(leaf), static_cast<void>(sub_leaf);
#endif
    return found;
}

std::vector<data_cache> data_caches(const std::string& root) {
    std::vector<data_cache> found;
    for (unsigned index = 0; index < indices_max; ++index) {
        const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        const std::string type = word_in(folder + "type");
        if (type.empty()) break;
        if (type == "Instruction") continue;
        const data_cache one = {static_cast<unsigned>(number_in(folder + "level")), number_in(folder + "size"),
                                static_cast<unsigned>(number_in(folder + "ways_of_associativity")),
                                static_cast<unsigned>(number_in(folder + "coherency_line_size"))};
        if (one.level != 0 && one.bytes != 0 && one.ways != 0 && one.line_bytes != 0) found.push_back(one);
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
    return found;
}

std::vector<translation_buffer> translation_buffers(const cpuid_function& cpuid) {
    std::vector<translation_buffer> found;
    if (cpuid(0, 0)[0] >= 0x18) found = from_leaf_18(cpuid);
    if (found.empty() && cpuid(0x80000000, 0)[0] >= 0x80000006) found = from_amd(cpuid);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
    return found;
}

}  // namespace millpond::measure
