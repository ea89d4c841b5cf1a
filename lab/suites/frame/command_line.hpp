// SPDX-License-Identifier: BSL-1.0
// command_line: reads the suite's options without a library, so that reading them allocates nothing.
//
//   --workload W --contender C --log2_size 8 … ──▶ names and texts, pointing into argv ──▶ read_values ──▶ numbers
//
// O(options × parameters). Names of parameters may have - instead of _.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lab/measure/counters.hpp"
#include "lab/measure/perf_control.hpp"
#include "suite.hpp"

namespace millpond::frame {

struct command_line {
    struct setting {
        std::string_view name, text;
    };

    bool list = false;
    bool help = false;
    std::string_view workload, contender;
    const char* peer = nullptr;      // the peer's library
    std::uint64_t instructions = 0;  // 0: not given
    std::optional<double> litter;    // the fraction of blocks to free
    bool pictures_heap = false;
    std::optional<std::uint64_t> memory_limit_bytes;
    bool counters = false;
    std::array<const char*, 16> events{};  // --event: a name, or NAME=0xCODE
    std::size_t event_count = 0;
    std::optional<measure::perf_control> control;
    std::array<setting, 16> settings{};
    std::size_t setting_count = 0;
};

// Throws: program::failure for an unknown option, or a value of the wrong kind.
command_line read_command_line(int argc, char** argv);

// Effects: sets the point's values: the workload's defaults, then those of the line. Returns: what is wrong, or
// nothing.
std::string read_values(const command_line& line, point& asked);

// Returns: the event of NAME=0xCODE; nothing if the text is a name of libpfm's, which may end in a value, too:
// EVENT:c=0x1.
std::optional<measure::event> read_raw_event(std::string_view text) noexcept;

// Returns the usage text of the program.
std::string usage_of(const suite& of);

}  // namespace millpond::frame
