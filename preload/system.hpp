// SPDX-License-Identifier: BSL-1.0
// system: the few system calls of preloaded libraries, without errno, cancellation points or locks. Negative results
// are −errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::preload {

template <class... Arguments>
long system_call(long number, Arguments... arguments) noexcept {
    const int before = errno;
    long result = syscall(number, arguments...);
    if (result < 0) result = -errno;
    errno = before;
    return result;
}

// A file descriptor, open for a scope.
class file {
  public:
    file(const char* path, int flags, int mode = 0) noexcept
        : descriptor_(system_call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode)) {}
    ~file() {
        if (descriptor_ >= 0) system_call(SYS_close, descriptor_);
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    // Returns the descriptor; if negative, −errno.
    [[nodiscard]] long descriptor() const noexcept { return descriptor_; }

    // Returns the bytes read until the end of the file or of the buffer.
    std::size_t read(void* to, std::size_t bytes) const noexcept {
        std::size_t done = 0;
        while (descriptor_ >= 0 && done < bytes) {
            const long n = system_call(SYS_read, descriptor_, static_cast<char*>(to) + done, bytes - done);
            if (n == -EINTR) continue;
            if (n <= 0) break;
            done += static_cast<std::size_t>(n);
        }
        return done;
    }
    // Returns 0 or errno. Writes all bytes or, on a full disk, some.
    [[nodiscard]] int write(const void* from, std::size_t bytes) const noexcept {
        std::size_t done = 0;
        while (done < bytes) {
            const long n = system_call(SYS_write, descriptor_, static_cast<const char*>(from) + done, bytes - done);
            if (n == -EINTR) continue;
            if (n <= 0) return n == 0 ? ENOSPC : static_cast<int>(-n);
            done += static_cast<std::size_t>(n);
        }
        return 0;
    }

  private:
    long descriptor_;
};

// Returns whether the kernel's result is an error: −4095 to −1.
[[nodiscard]] inline bool is_error(long result) noexcept {
    constexpr long last_error = 4095;
    return result < 0 && result >= -last_error;
}

inline std::uint64_t ticks() noexcept { return machine::ticks(); }

}  // namespace millpond::preload
