// SPDX-License-Identifier: BSL-1.0
// workload: what a suite knows of each of its benchmarks: its parameters and metrics, who can run it, and how.
//
//   --workload W --contender C --PARAMETER VALUE … ──▶ point ──▶ workload::run ──▶ outcome ──▶ one line of JSON
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

namespace millpond::frame {

struct parameter {
    std::string_view name;
    std::int64_t usual, least, most;
    std::string_view meaning;
    std::span<const std::string_view> words = {};  // what it chooses from; values are positions here. Empty: a number
};

inline constexpr std::size_t most_parameters = 12;
inline constexpr std::uint64_t most_seed = 0x7fffffffffffffff;
inline constexpr parameter seed_parameter{"seed", 1, 0, static_cast<std::int64_t>(most_seed), "of all that is drawn"};

// What is stored of a round. A series has a value for each of something, and names as `step_ns:4096`. Units come last
// in a name; where they do not, the unit is said.
struct metric {
    constexpr metric(const char* of, std::string_view in = {}, std::string_view differs_in = {})
        : name(of), unit(in.empty() ? name.substr(name.rfind('_') + 1) : in), by(differs_in) {}

    std::string_view name, unit;
    std::string_view by;  // what the values of a series differ in
};

struct figure {
    std::string name;
    std::optional<double> value;
};

struct outcome {
    std::uint64_t checksum = 0;            // over what was done: equal for all contenders of one point
    std::vector<figure> figures;           // metrics, and what else there is to tell
    std::vector<measure::count> counts{};  // where --counters asks for them

    // Room for most, so that nothing is allocated on their behalf while something is measured.
    outcome() { figures.reserve(24); }

    // Effects: the figure has this value, whether it was there or not.
    void set(std::string_view name, std::optional<double> value);
    void set_count(std::string_view name, std::uint64_t value) { set(name, static_cast<double>(value)); }
    void set_all(const std::vector<figure>& these) {
        for (const figure& each : these) set(each.name, each.value);
    }
    // Returns: the figure's value; nothing where it is not there.
    [[nodiscard]] std::optional<double> operator[](std::string_view name) const noexcept;
};

struct workload;

struct point {
    const workload* of = nullptr;
    std::size_t contender = 0;  // its position in the suite's list
    bool is_kept = false;       // NAME:kept
    std::array<std::int64_t, most_parameters> values{};
    std::uint64_t instructions = 0;  // above 0: the counted functions so many times, and nothing is timed
    // The run that collects what littering holds back: once through what allocates, no more.
    bool is_for_littering = false;

    // Returns: the value of one of the workload's parameters.
    [[nodiscard]] std::int64_t operator[](std::string_view name) const;
    // Returns: the value of one that is never negative.
    [[nodiscard]] std::uint64_t count(std::string_view name) const { return static_cast<std::uint64_t>((*this)[name]); }
    // Returns: 2 to the power of one of them.
    [[nodiscard]] std::uint64_t power(std::string_view name) const { return std::uint64_t{1} << (*this)[name]; }
    [[nodiscard]] std::uint64_t seed() const { return count("seed"); }
};

// For workloads that every contender runs, in which any values go together, and which need what they hold.
inline bool takes_all(std::size_t) { return true; }
inline std::string fits_always(const point&) { return {}; }
inline std::uint64_t needs_no_more(const point&) { return 0; }

struct workload {
    std::string_view name;
    std::string_view unit;  // what is counted
    std::span<const parameter> parameters;
    std::span<const metric> metrics = {};  // beside those that every workload of the suite has
    bool (*takes)(std::size_t contender) = takes_all;
    outcome (*run)(const point&) = nullptr;
    // What about these values, taken together, cannot be run; empty: nothing.
    std::string (*misfit)(const point&) = fits_always;
    // Returns: at least so many bytes will be needed at once. For --memory-limit-bytes.
    std::uint64_t (*least_bytes)(const point&) = needs_no_more;
    // What --instructions counts here.
    std::span<const std::string_view> counted_functions = {};
};

}  // namespace millpond::frame
