// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/perf_control.hpp"

#include <poll.h>
#include <signal.h>
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

[[noreturn]] void fail_for_perf(const std::string& what) { throw std::runtime_error("--perf-control: " + what); }

}  // namespace

std::optional<perf_control> perf_control::parse(std::string_view text, std::chrono::milliseconds patience) noexcept {
    const std::size_t comma = text.find(',');
    int control = -1;
    int acknowledgement = -1;
    if (!read_descriptor(text.substr(0, comma), control)) return std::nullopt;
    if (comma != text.npos && !read_descriptor(text.substr(comma + 1), acknowledgement)) return std::nullopt;
    return perf_control(control, acknowledgement, patience);
}

void perf_control::say(std::string_view command) const {
    // If perf has ended, writing must fail instead of killing this process.
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    const ssize_t written = ::write(control_, command.data(), command.size());
    const int error = errno;
    ::signal(SIGPIPE, before);
    if (written != static_cast<ssize_t>(command.size())) {
        fail_for_perf("descriptor " + std::to_string(control_) + " cannot be written: " + std::strerror(error) +
                      (error == EPIPE ? "; perf has ended" : ""));
    }
    if (acknowledgement_ >= 0) wait_for_answer();
}

void perf_control::wait_for_answer() const {
    const std::string who = "descriptor " + std::to_string(acknowledgement_);
    pollfd answered{acknowledgement_, POLLIN, 0};
    int ready;
    do ready = ::poll(&answered, 1, static_cast<int>(patience_.count()));
    while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        fail_for_perf(who + " gave no ack within " + std::to_string(patience_.count()) + " ms: has perf ended?");
    }
    char answer[16];
    ssize_t got;
    do got = ::read(acknowledgement_, answer, sizeof answer);
    while (got < 0 && errno == EINTR);
    if (got < 0) fail_for_perf(who + " cannot be read: " + std::strerror(errno));
    if (got == 0) fail_for_perf(who + " gave no ack: perf has ended");
    // perf also sends the text's terminating zero.
    if (got < 3 || std::string_view(answer, 3) != "ack") fail_for_perf(who + " gave no ack, but something else");
}

}  // namespace millpond::measure
