// SPDX-License-Identifier: BSL-1.0
#include "emulator_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace millpond::suites {
namespace {

// The lines of a file of the proc file system, without their ends. A long line is cut.
class proc_lines {
  public:
    explicit proc_lines(const char* path) noexcept : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
    proc_lines(const proc_lines&) = delete;
    proc_lines& operator=(const proc_lines&) = delete;
    ~proc_lines() {
        if (file_ >= 0) ::close(file_);
    }

    // Returns: the next line, valid until the next call; null at the end.
    const char* next() noexcept {
        std::size_t length = 0;
        for (char c = 0; read(c);) {
            if (c == '\n') return end(length);
            if (length + 1 < sizeof line_) line_[length++] = c;
        }
        return length > 0 ? end(length) : nullptr;
    }

  private:
    const char* end(std::size_t length) noexcept {
        line_[length] = '\0';
        return line_;
    }
    bool read(char& c) noexcept {
        if (at_ == got_) {
            const ssize_t got = file_ < 0 ? 0 : ::read(file_, buffer_, sizeof buffer_);
            at_ = 0;
            got_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        }
        if (at_ == got_) return false;
        c = buffer_[at_++];
        return true;
    }

    int file_;
    std::size_t at_ = 0, got_ = 0;
    char line_[128];
    char buffer_[4096];
};

struct range {
    std::uint64_t begin = 0, end = 0;
};

// Reads "BEGIN-END " in hexadecimal digits. Returns: false for another line.
bool read_range(const char* line, range& into) noexcept {
    char* stop = nullptr;
    into.begin = std::strtoull(line, &stop, 16);
    if (stop == line || *stop != '-') return false;
    const char* const second = stop + 1;
    into.end = std::strtoull(second, &stop, 16);
    return stop != second && *stop == ' ';
}

std::uint64_t end_of_program() noexcept {
    proc_lines maps("/proc/self/maps");
    range last;
    while (const char* const line = maps.next()) {
        if (range found; read_range(line, found)) last = found;
    }
    return last.end;
}

}  // namespace

std::uint64_t emulator_bytes() noexcept {
    if (std::getenv("MILLPOND_EMULATED") == nullptr) return 0;
    const std::uint64_t end = end_of_program();
    proc_lines smaps("/proc/self/smaps");
    std::uint64_t kibibytes = 0;
    bool is_emulator = false;
    while (const char* const line = smaps.next()) {
        constexpr const char key[] = "Rss:";
        if (range found; read_range(line, found)) is_emulator = found.begin >= end;
        if (is_emulator && std::strncmp(line, key, sizeof key - 1) == 0)
            kibibytes += std::strtoull(line + sizeof key - 1, nullptr, 10);
    }
    return kibibytes * 1024;
}

}  // namespace millpond::suites
