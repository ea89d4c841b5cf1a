// SPDX-License-Identifier: BSL-1.0
#include "lab/program/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lab/program/program.hpp"

namespace millpond::program {
namespace {

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

[[noreturn]] void cannot(const char* what, const std::string& path, int error) {
    throw failure(input, path + ": cannot be " + what + ": " + std::strerror(error));
}

void require_regular(const char* path, const struct stat& about) {
    if (!S_ISREG(about.st_mode))
        throw failure(input, std::string(path) + " is " + kind_of(about.st_mode) + ", not a file");
}

class descriptor_owner {
  public:
    explicit descriptor_owner(int owned) : descriptor(owned) {}
    descriptor_owner(const descriptor_owner&) = delete;
    descriptor_owner& operator=(const descriptor_owner&) = delete;
    ~descriptor_owner() { ::close(descriptor); }

    const int descriptor;
};

}  // namespace

int open_regular(const char* path) {
    struct stat about;
    // Checked before it is opened, because opening a device may act on it.
    if (::stat(path, &about) != 0) cannot("opened", path, errno);
    require_regular(path, about);
    // Checked again after opening, without waiting, because another file may have taken the name in between.
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) cannot("opened", path, errno);
    if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode)) return descriptor;
    ::close(descriptor);
    throw failure(input, std::string(path) + " is not a file any more");
}

std::string read_regular(const std::string& path, std::size_t bytes_max) {
    const descriptor_owner file(open_regular(path.c_str()));
    std::string content;
    // Reads to the end instead of the stated size, because the files of /proc state none.
    for (std::size_t used = 0;;) {
        content.resize(std::min(std::max<std::size_t>(2 * used, 64u << 10), bytes_max + 1));
        const ssize_t got = ::read(file.descriptor, content.data() + used, content.size() - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) cannot("read", path, errno);
        used += static_cast<std::size_t>(got);
        if (used > bytes_max)
            throw failure(input,
                          path + " is larger than " + std::to_string(bytes_max) + " bytes, the limit for such a file");
        if (got == 0) {
            content.resize(used);
            return content;
        }
    }
}

}  // namespace millpond::program
