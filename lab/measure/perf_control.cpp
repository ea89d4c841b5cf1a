// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/perf_control.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

namespace millpond::measure {
namespace {

bool read_descriptor(std::string_view text, int& value) noexcept {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && stop == text.data() + text.size() && value >= 0;
}

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("--perf-control: " + what); }

}  // namespace

std::optional<perf_control> perf_control::parse(std::string_view text) noexcept {
    const std::size_t comma = text.find(',');
    int control = -1;
    int acknowledgement = -1;
    if (!read_descriptor(text.substr(0, comma), control)) return std::nullopt;
    if (comma != text.npos && !read_descriptor(text.substr(comma + 1), acknowledgement)) return std::nullopt;
    return perf_control(control, acknowledgement);
}

void perf_control::say(std::string_view command) const {
    if (::write(control_, command.data(), command.size()) != static_cast<ssize_t>(command.size())) {
        fail("descriptor " + std::to_string(control_) + " cannot be written: " + std::strerror(errno));
    }
    if (acknowledgement_ < 0) return;
    char answer[16];
    ssize_t got;
    do got = ::read(acknowledgement_, answer, sizeof answer);
    while (got < 0 && errno == EINTR);
    // perf sends the text's terminating zero along.
    if (got < 3 || std::string_view(answer, 3) != "ack") {
        fail("descriptor " + std::to_string(acknowledgement_) + " gave no ack");
    }
}

}  // namespace millpond::measure
