// SPDX-License-Identifier: BSL-1.0
// workload: the description of one benchmark of a suite: its parameters and metrics, its contenders, and its code.
//
//   --workload W --contender C --PARAMETER VALUE … ──▶ point ──▶ workload::run ──▶ outcome ──▶ one line of JSON
//
// One object for each, defined next to the code that it runs; a suite lists them. Plain data.
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

namespace millpond::frame {

struct parameter {
    std::string_view name;
    std::int64_t usual, least, most;
    std::string_view meaning;
    // the words to choose from; values are positions in this list. Empty: a number
    std::span<const std::string_view> words = {};
};

inline constexpr std::size_t most_parameters = 12;
inline constexpr std::uint64_t most_seed = 0x7fffffffffffffff;
inline constexpr parameter seed_parameter{"seed", 1, 0, static_cast<std::int64_t>(most_seed), "of all that is drawn"};

// A stored value of a round. A series has one value for each key, with names such as `step_ns:4096`. A name ends in its
// unit; otherwise `unit` gives it.
struct metric {
    constexpr metric(const char* of, std::string_view in = {}, std::string_view differs_in = {})
        : name(of), unit(in.empty() ? name.substr(name.rfind('_') + 1) : in), by(differs_in) {}

    std::string_view name, unit;
    std::string_view by;  // the key of the values of a series
};

struct figure {
    std::string name;
    std::optional<double> value;
};

struct outcome {
    std::uint64_t checksum = 0;            // over the work done: equal for all contenders of one point
    std::vector<figure> figures;           // metrics, and other facts worth reporting
    std::vector<measure::count> counts{};  // set if --counters asks for them

    // Reserves room for most figures, so that nothing is allocated for them while something is measured.
    outcome() { figures.reserve(24); }

    // Effects: sets the figure to this value, and adds it if needed.
    void set(std::string_view name, std::optional<double> value);
    void set_count(std::string_view name, std::uint64_t value) { set(name, static_cast<double>(value)); }
    void set_all(const std::vector<figure>& these) {
        for (const figure& each : these) set(each.name, each.value);
    }
    // Returns: the figure's value; nothing if it was not set.
    [[nodiscard]] std::optional<double> operator[](std::string_view name) const noexcept;
};

struct workload;

struct point {
    const workload* of = nullptr;
    std::size_t contender = 0;  // position in the suite's list
    bool is_kept = false;       // NAME:kept
    std::array<std::int64_t, most_parameters> values{};
    std::uint64_t instructions = 0;  // above 0: runs the counted functions so many times, without timing
    // True for the run that collects blocks for littering: only the allocating part, once.
    bool is_for_littering = false;

    // Returns: the value of one of the workload's parameters.
    [[nodiscard]] std::int64_t operator[](std::string_view name) const;
    // Returns: the value of a parameter that is never negative.
    [[nodiscard]] std::uint64_t count(std::string_view name) const { return static_cast<std::uint64_t>((*this)[name]); }
    // Returns: 2 to the power of a parameter.
    [[nodiscard]] std::uint64_t power(std::string_view name) const { return std::uint64_t{1} << (*this)[name]; }
    [[nodiscard]] std::uint64_t seed() const { return count("seed"); }
};

// Defaults for workloads that every contender runs, in which all combinations of values are valid.
inline bool takes_all(std::size_t) { return true; }
inline std::string fits_always(const point&) { return {}; }
inline std::uint64_t needs_no_more(const point&) { return 0; }

struct workload {
    std::string_view name;
    std::string_view unit;  // the thing that is counted
    std::span<const parameter> parameters;
    std::span<const metric> metrics = {};  // in addition to those that every workload of the suite has
    bool (*takes)(std::size_t contender) = takes_all;
    outcome (*run)(const point&) = nullptr;
    // Returns why these values, taken together, cannot be run; empty if they can.
    std::string (*misfit)(const point&) = fits_always;
    // Returns: a lower bound on the bytes needed at once. For --memory-limit-bytes.
    std::uint64_t (*least_bytes)(const point&) = needs_no_more;
    // The functions that --instructions counts.
    std::span<const std::string_view> counted_functions = {};
};

}  // namespace millpond::frame
