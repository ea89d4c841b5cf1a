// SPDX-License-Identifier: BSL-1.0
// unique_characters: how many different characters a string has, again and again, a fresh container for each string.
//
//   strings drawn ── start ── count(string), count(next), … `calls` of them ── stop      any of the 256 values
//   littering: the talk's own functions run first, all deletes held back, then some of the blocks are freed at random
//
// The checksum is the sum of all counts.
#include "contenders.hpp"
#include "lab/suites/frame/window.hpp"

namespace millpond::unique_chars {
namespace {

using frame::outcome, frame::parameter, frame::point;

constexpr parameter parameters[] = {
    {"length", 256, 1, std::int64_t{1} << 24, "characters of a string"},
    {"calls", 4096, 1, std::int64_t{1} << 40, "strings counted"},
    {"litter_calls", 4096, 1, std::int64_t{1} << 24, "strings counted to litter the heap, where --litter is given"},
    frame::seed_parameter,
};

outcome run(const point& asked) {
    const suites::character_strings texts(asked.count("length"), asked.seed());
    const std::uint64_t calls = asked.count("calls");
    outcome result;
    frame::window measured;
    measured.run(result, [&] { result.checksum = counting_of(asked.contender)(texts, calls); });
    result.set_count("units", calls);
    return result;
}

}  // namespace

const frame::workload unique_characters{
    .name = "unique_characters", .unit = "string", .parameters = parameters, .run = run};

}  // namespace millpond::unique_chars
