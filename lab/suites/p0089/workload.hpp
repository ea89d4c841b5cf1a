// SPDX-License-Identifier: BSL-1.0
// workload: what the suite knows of each benchmark: its parameters, who can run it, and how.
//
//   --workload W --strategy S --PARAMETER VALUE … ──▶ point ──▶ workload::run ──▶ outcome ──▶ one line of JSON
//
// One object for each, defined beside the code that it runs; all_workloads lists them. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strategy.hpp"

namespace millpond::p0089 {

struct parameter {
    std::string_view name;
    std::int64_t usual, least, most;
    std::string_view meaning;
    std::span<const std::string_view> words = {};  // what it chooses from; values are positions here. Empty: a number
};

inline constexpr std::size_t most_parameters = 8;
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
    std::vector<figure> more;                                     // of this workload alone
};

struct workload;

struct point {
    const workload* of = nullptr;
    strategy by;
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
    bool winks;  // whether it makes a difference here how the structure ends
    outcome (*run)(const point&);
    // What about these values, taken together, cannot be run; empty: nothing.
    std::string (*misfit)(const point&);
    // Returns: at least so many bytes will be needed at once. For --memory-limit-bytes.
    std::uint64_t (*least_bytes)(const point&);

    [[nodiscard]] bool takes(strategy by) const noexcept { return winks || !by.winks; }
};

extern const workload structures, locality, utilization, contention;

std::span<const workload* const> all_workloads();

}  // namespace millpond::p0089
