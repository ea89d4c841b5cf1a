// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/resident.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace millpond::measure {
namespace {

// Reads a small file of the proc file system, whole.
class proc_file {
  public:
    explicit proc_file(const char* path) noexcept {
        const int file = ::open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        const ssize_t got = ::read(file, text_, sizeof text_ - 1);
        ::close(file);
        text_[got > 0 ? got : 0] = '\0';
    }

    // Returns the value behind "KEY:", given in kB, in bytes; 0 if the key is missing.
    std::uint64_t bytes_of(const char* key) const noexcept {
        const std::size_t length = std::strlen(key);
        for (const char* line = text_; line != nullptr && *line != '\0'; line = next(line)) {
            if (std::strncmp(line, key, length) != 0 || line[length] != ':') continue;
            const char* at = line + length + 1;
            while (*at == ' ' || *at == '\t') ++at;
            std::uint64_t value = 0;
            for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
            return value * 1024;
        }
        return 0;
    }

  private:
    static const char* next(const char* line) noexcept {
        const char* const end = std::strchr(line, '\n');
        return end == nullptr ? nullptr : end + 1;
    }

    char text_[8192] = {};
};

}  // namespace

resident resident_now() noexcept {
    const proc_file status("/proc/self/status");
    return {status.bytes_of("VmRSS"), status.bytes_of("VmHWM"),
            status.bytes_of("RssFile") + status.bytes_of("RssShmem"), status.bytes_of("RssAnon")};
}

void reset_peak() noexcept {
    const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const ssize_t done = ::write(file, "5", 1);
    ::close(file);
}

std::uint64_t available_bytes() noexcept { return proc_file("/proc/meminfo").bytes_of("MemAvailable"); }

}  // namespace millpond::measure
