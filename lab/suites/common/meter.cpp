// SPDX-License-Identifier: BSL-1.0
#include "meter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "lab/replay/clocks.hpp"

namespace millpond::suites {
namespace {

std::uint64_t bytes_of(const char* text, const char* key) noexcept {
    const char* const found = std::strstr(text, key);
    return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, 10) * 1024;
}

}  // namespace

resident_bytes read_resident() noexcept {
    const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    char text[8192];
    const ssize_t got = ::read(file, text, sizeof text - 1);
    ::close(file);
    text[got > 0 ? got : 0] = '\0';
    return {bytes_of(text, "VmRSS:"), bytes_of(text, "VmHWM:")};
}

void restart_peak() noexcept {
    const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t done = ::write(file, "5", 1);
    ::close(file);
}

double cpu_ns() noexcept { return replay::process_cpu_seconds() * 1e9; }

resident_meter::resident_meter() noexcept : base_bytes_(read_resident().now) { restart_peak(); }

}  // namespace millpond::suites
