// SPDX-License-Identifier: BSL-1.0
// Computes the hits of each level from the misses of the level before and its own, and their cost.
#include "lab/simulate/level_time.hpp"
#include "lab/program/json.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace millpond::simulate {
namespace {

using program::json;

constexpr double ns_a_second = 1e9;

struct one_level {
    std::uint64_t size, misses, foreseen;
};

struct level_counts {
    std::uint64_t references = 0;
    std::vector<one_level> levels;
};

level_counts levels_of(const references::simulator_counts& simulator) {
    level_counts found;
    for (const auto& row : simulator.rows) {
        if (std::string_view(row.metric) == "references") found.references = row.value;
        if (std::string_view(row.metric) == "misses") found.levels.push_back({row.cache_bytes, row.value, 0});
        if (std::string_view(row.metric) == "foreseen") found.levels.back().foreseen = row.value;
    }
    return found;
}

// Returns whether the pages are small: latencies of pages are measured on small ones.
bool are_small_pages(const references::simulator_counts& simulator) {
    for (const auto& row : simulator.rows) {
        if (row.line_bytes != 0) return row.line_bytes == page_bytes;
    }
    return false;
}

bool is_kind(const references::simulator_counts& simulator, std::string_view kind) {
    return std::string_view(simulator.description).substr(0, kind.size()) == kind;
}

struct sum_of_parts {
    json parts = json::array();
    double seconds = 0;

    void add(const std::string& part, std::uint64_t count, double ns_each) {
        const double value = static_cast<double>(count) * ns_each / ns_a_second;
        parts.push_back(
            program::json_object({{"part", part}, {"count", count}, {"ns_each", ns_each}, {"value", value}}));
        seconds += value;
    }
};

// A foreseen line costs a hit of the second level, wherever it comes from.
void add_levels(sum_of_parts& to, const level_counts& counts, const machine_latencies& machine) {
    one_level inner = {0, counts.references, 0};
    double second_ns = 0;  // 0: no second level yet
    const auto add = [&](const std::string& part, const one_level& level, double ns) {
        const std::uint64_t hits = inner.misses - level.misses;
        if (second_ns == 0) return to.add(part, hits, ns);
        const std::uint64_t foreseen = inner.foreseen - level.foreseen;
        to.add(part, hits - foreseen, ns);
        to.add(part + ", foreseen", foreseen, second_ns);
    };
    for (std::size_t i = 0; i < counts.levels.size(); ++i) {
        const one_level& level = counts.levels[i];
        const double ns = cache_ns(machine, inner.size, level.size);
        add("level " + std::to_string(i + 1), level, ns);
        if (i == 1) second_ns = ns;
        inner = level;
    }
    add("memory", {0, 0, 0}, memory_ns(machine, inner.size));
}

void add_translation(sum_of_parts& to, const level_counts& counts, const machine_latencies& machine) {
    for (std::size_t i = 0; i < counts.levels.size(); ++i) {
        const std::uint64_t entries = counts.levels[i].size / page_bytes, asked = counts.levels[i].misses;
        const bool is_last = i + 1 == counts.levels.size();
        const std::uint64_t next = is_last ? 0 : counts.levels[i + 1].size / page_bytes;
        if (is_last)
            to.add("page walks", asked, walk_ns(machine, entries));
        else
            to.add("translation level " + std::to_string(i + 2), asked - counts.levels[i + 1].misses,
                   translation_ns(machine, entries, next));
    }
}

json assumptions_of(const machine_latencies& machine, const level_counts& counts, std::uint64_t instructions,
                    double cycles_per_instruction, bool with_translation) {
    std::array<char, 96> cpi{};
    std::snprintf(cpi.data(), cpi.size(), "every instruction takes %g %s, plus the time of its references",
                  cycles_per_instruction, cycles_per_instruction == 1 ? "cycle" : "cycles");
    json all = json::array(
        {"nothing overlaps: every reference waits for the level that holds its lines",
         instructions == 0 ? "the time of instructions is missing: the input has only references" : cpi.data(),
         "caches and buffers evict their least recently used entry; write-backs and instruction fetches "
         "are not included"});
    all.push_back(
        counts.levels.size() > 1
            ? "a line next to the latest miss in its page of 4 KiB is already in the second level (prefetched)"
            : "nothing is prefetched: there is no second level to hold it");
    all.push_back(with_translation
                      ? "a hit of the first translation buffer is free; the others cost what the curve of pages adds"
                      : "translation has no row: latencies include as much as sets of their size need on small pages");
    if (!is_beyond_caches(machine, counts.levels.back().size))
        all.push_back("memory's latency is too small: even the largest set measured fits into these caches");
    return all;
}

}  // namespace

json level_times_json(const std::vector<references::simulator_counts>& simulators, std::uint64_t instructions,
                      const machine_latencies& machine, double cycles_per_instruction) {
    const references::simulator_counts* buffers = nullptr;
    for (const auto& one : simulators) {
        if (buffers == nullptr && !machine.pages.empty() && is_kind(one, "tlb:") && are_small_pages(one))
            buffers = &one;
    }
    json times = json::array();
    for (const auto& one : simulators) {
        if (!is_kind(one, "levels:")) continue;
        const level_counts counts = levels_of(one);
        sum_of_parts sum;
        if (instructions != 0) sum.add("instructions", instructions, cycles_per_instruction * machine.cycle_ns);
        add_levels(sum, counts, machine);
        if (buffers != nullptr) add_translation(sum, levels_of(*buffers), machine);
        times.push_back(
            program::json_object({{"metric", "time_by_level"},
                                  {"unit", "seconds"},
                                  {"value", sum.seconds},
                                  {"cycles", sum.seconds * ns_a_second / machine.cycle_ns},
                                  {"simulator", one.description},
                                  {"translation", buffers != nullptr ? json(buffers->description) : json(nullptr)},
                                  {"latencies", machine.from},
                                  {"cycle_ns", machine.cycle_ns},
                                  {"cycles_per_instruction", cycles_per_instruction},
                                  {"parts", std::move(sum.parts)},
                                  {"assumptions", assumptions_of(machine, counts, instructions, cycles_per_instruction,
                                                                 buffers != nullptr)}}));
    }
    return times;
}

std::string level_times_table(const json& times) {
    std::string text;
    std::array<char, 160> line{};
    for (const json& one : times) {
        text += "\ntime of " + one["simulator"].get<std::string>();
        if (!one["translation"].is_null()) text += " and " + one["translation"].get<std::string>();
        text += "\n  latencies: " + one["latencies"].get<std::string>() + "\n";
        const auto whole = one["value"].get<double>();
        for (const json& part : one["parts"]) {
            const auto value = part["value"].get<double>();
            std::snprintf(line.data(), line.size(), "  %-20s %16.0f x %8.2f ns %16.9f s  %5.1f %%\n",
                          part["part"].get<std::string>().c_str(), part["count"].get<double>(),
                          part["ns_each"].get<double>(), value, whole > 0 ? 100 * value / whole : 0.0);
            text += line.data();
        }
        std::snprintf(line.data(), line.size(), "  %-20s %16.0f cycles %22.9f s\n", "together",
                      one["cycles"].get<double>(), whole);
        text += line.data();
        for (const json& words : one["assumptions"]) text += "  · " + words.get<std::string>() + "\n";
    }
    return text;
}

}  // namespace millpond::simulate
