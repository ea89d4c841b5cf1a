// SPDX-License-Identifier: BSL-1.0
// workload: what a suite knows of each benchmark of a document: its parameters, who can run it, and how.
//
//   --workload W --strategy S --PARAMETER VALUE … ──▶ point ──▶ workload::run ──▶ outcome ──▶ one line of JSON
//
// One object for each, defined beside the code that it runs; a suite lists them. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measure/counters.hpp"

namespace millpond::experiment {

struct parameter {
    std::string_view name;
    std::int64_t usual, least, most;
    std::string_view meaning;
    std::span<const std::string_view> words = {};  // what it chooses from; values are positions here. Empty: a number
};

inline constexpr std::size_t most_parameters = 10;
inline constexpr std::uint64_t most_seed = 0x7fffffffffffffff;
inline constexpr parameter seed_parameter{"seed", 1, 0, static_cast<std::int64_t>(most_seed), "of all that is drawn"};

struct figure {
    std::string_view name;
    std::optional<double> value;
};

struct outcome {
    std::uint64_t units = 0;
    std::uint64_t checksum = 0;  // over what was done: equal for all strategies of one point
    double cpu_seconds = 0;
    double wall_seconds = 0;
    std::uint64_t page_faults = 0;
    std::uint64_t base_bytes = 0, peak_bytes = 0, end_bytes = 0;  // resident; the latter two include the base
    std::optional<std::uint64_t> held_bytes;                      // kept by the allocators when everything was freed
    std::vector<figure> more;                                     // of this workload alone
    std::vector<measure::count> counts;                           // where --counters asks for them
};

struct workload;

struct point {
    const workload* of = nullptr;
    std::size_t strategy = 0;  // its position in the suite's list
    std::array<std::int64_t, most_parameters> values{};
    // The run that collects what littering holds back: once through what allocates, no more.
    bool is_for_littering = false;

    // Returns: the value of one of the workload's parameters.
    [[nodiscard]] std::int64_t operator[](std::string_view name) const;
    // Returns: 2 to the power of one of them.
    [[nodiscard]] std::uint64_t power(std::string_view name) const { return std::uint64_t{1} << (*this)[name]; }
    [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>((*this)["seed"]); }
};

struct workload {
    std::string_view name;
    std::string_view unit;  // what is counted
    std::span<const parameter> parameters;
    bool (*takes)(std::size_t strategy);
    outcome (*run)(const point&);
    // What about these values, taken together, cannot be run; empty: nothing.
    std::string (*misfit)(const point&);
    // Returns: at least so many bytes will be needed at once. For --memory-limit-bytes.
    std::uint64_t (*least_bytes)(const point&);
};

// For workloads in which any values go together, and which need what they hold.
inline std::string fits_always(const point&) { return {}; }
inline std::uint64_t needs_no_more(const point&) { return 0; }

}  // namespace millpond::experiment
