// SPDX-License-Identifier: BSL-1.0
#include "lab/references/script_check.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/references/player/call_script.h"
#include "lab/trace/block_file.hpp"

namespace millpond::references {
namespace {

constexpr std::size_t calls_at_a_time = 2048;

[[noreturn]] void refuse(const std::string& path, const char* why) {
    throw program::failure(program::input,
                           path + " " + why + "; `millpond-layout --calls RECORDING -o SCRIPT` writes one");
}

std::uint64_t sum_of_calls(int file, const std::string& path, std::uint64_t calls) {
    std::vector<millpond_call> window(calls_at_a_time);
    std::uint64_t sum = 0;
    for (std::uint64_t number = 0; number < calls;) {
        const std::uint64_t count = std::min<std::uint64_t>(calls_at_a_time, calls - number);
        const std::uint64_t at = sizeof(millpond_call_script) + number * sizeof(millpond_call);
        if (!trace::read_at(file, at, window.data(), count * sizeof(millpond_call))) refuse(path, "cannot be read");
        for (std::uint64_t i = 0; i < count; ++i) sum += millpond_call_sum(number + i, &window[i]);
        number += count;
    }
    return sum;
}

void check(int file, const std::string& path) {
    millpond_call_script script{};
    const off_t bytes = ::lseek(file, 0, SEEK_END);
    if (bytes < 0 || !trace::read_at(file, 0, &script, sizeof script) || script.magic != millpond_call_script_magic)
        refuse(path, "is not a script of calls");
    if (script.version != millpond_call_script_version || script.call_bytes != sizeof(millpond_call))
        refuse(path, "is a script of another version");
    const auto behind = static_cast<std::uint64_t>(bytes) - sizeof script;
    if (behind % sizeof(millpond_call) != 0 || behind / sizeof(millpond_call) != script.calls)
        refuse(path, "has the wrong length: it was cut or extended");
    if (millpond_script_sum(&script, sum_of_calls(file, path, script.calls)) != script.sum)
        refuse(path, "is damaged: its checksum does not hold");
}

}  // namespace

void check_call_script(const std::string& path) {
    const int file = program::open_regular(path.c_str());
    try {
        check(file, path);
    } catch (...) {
        ::close(file);
        throw;
    }
    ::close(file);
}

}  // namespace millpond::references
