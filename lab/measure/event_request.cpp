// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/event_request.hpp"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace millpond::measure {
namespace {

constexpr const char* program = "millpond-events";

[[noreturn]] void fail(const std::string& why) {
    throw std::runtime_error(std::string(program) + ", which knows events by their names, " + why);
}

// Returns: the path of millpond-events next to this program; empty if that is unknown.
std::array<char, PATH_MAX> path_beside() noexcept {
    std::array<char, PATH_MAX> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    const std::string_view here(path.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length)));
    const std::size_t folder = here.rfind('/') + 1;  // 0 without a slash
    if (folder + std::strlen(program) >= path.size()) return {};
    std::strcpy(path.data() + folder, program);
    return path;
}

// A pipe's reading end, and the process that writes into it.
struct child {
    int pipe = -1;
    pid_t id = -1;
};

child start(const char* path, char* const* words) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(std::string("cannot be asked: ") + std::strerror(errno));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    child started{ends[0], -1};
    const int error = ::posix_spawn(&started.id, path, &actions, nullptr, words, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) {
        ::close(ends[0]);
        fail(std::string("cannot be started: ") + std::strerror(error) + "; build it next to this program: " + path);
    }
    return started;
}

template <class Number>
bool take_number(std::string_view& text, Number& value) noexcept {
    while (text.starts_with(' ')) text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return error == std::errc{};
}

}  // namespace

bool event_request::add(const char* name) noexcept {
    if (count_ == most) return false;
    names_[count_++] = name;
    return true;
}

int event_request::ask() {
    if (count_ == 0) return 0;
    const std::array<char, PATH_MAX> path = path_beside();
    std::array<char*, most + 4> words{};
    std::array<char, 10> option{"--resolve"};
    std::array<char, 3> end_of_options{"--"};
    words[0] = const_cast<char*>(path.data());
    words[1] = option.data();
    words[2] = end_of_options.data();
    for (std::size_t i = 0; i < count_; ++i) words[i + 3] = const_cast<char*>(names_[i]);
    const child asked = start(path.data(), words.data());
    std::size_t length = 0;
    ssize_t got = 0;
    do {
        got = ::read(asked.pipe, text_.data() + length, text_.size() - length);
        if (got > 0) length += static_cast<std::size_t>(got);
    } while ((got > 0 && length < text_.size()) || (got < 0 && errno == EINTR));
    ::close(asked.pipe);
    int status = 0;
    while (::waitpid(asked.id, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status)) fail("died of signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
    read_answer({text_.data(), length});
    return 0;
}

void event_request::read_answer(std::string_view text) {
    for (std::size_t i = 0; i < count_; ++i) {
        const std::size_t end = text.find('\n');
        if (end == text.npos || !read_answer_line(text.substr(0, end), answers_[i])) {
            fail("gave an answer of another version: build it again");
        }
        answers_[i].name = names_[i];
        text.remove_prefix(end + 1);
    }
}

std::string answer_line(const event& of, std::string_view counted_as, std::string_view why_null) {
    if (!why_null.empty()) return "-\t" + std::string(why_null);
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "%x %llx %llx %llx %x %x\t", of.type,
                  static_cast<unsigned long long>(of.config), static_cast<unsigned long long>(of.config1),
                  static_cast<unsigned long long>(of.config2), unsigned{excluded(of)}, unsigned{of.always_moves});
    return text.data() + std::string(counted_as);
}

bool read_answer_line(std::string_view line, event& into) noexcept {
    const std::size_t tab = line.find('\t');
    if (tab == line.npos) return false;
    const std::string_view said = line.substr(tab + 1);
    std::string_view numbers = line.substr(0, tab);
    if (numbers == "-") {
        into = {};
        into.why_null = said;
        return !said.empty();
    }
    unsigned excludes = 0;
    unsigned always_moves = 0;
    into = {};
    if (!take_number(numbers, into.type) || !take_number(numbers, into.config) || !take_number(numbers, into.config1) ||
        !take_number(numbers, into.config2) || !take_number(numbers, excludes) || !take_number(numbers, always_moves)) {
        return false;
    }
    into.excludes = static_cast<std::uint8_t>(excludes);
    into.always_moves = always_moves != 0;
    into.counted_as = said;
    return numbers.empty();
}

}  // namespace millpond::measure
