// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/loaded_modules.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "lab/measure/start.hpp"
#include "lab/program/program.hpp"

namespace millpond::measure {
namespace {

constexpr std::size_t list_bytes_max = std::size_t{4} << 20;

// An anonymous file that another process can open by its path.
class anonymous_file {
  public:
    anonymous_file() : file_(::memfd_create("millpond-modules", MFD_CLOEXEC)) {
        if (file_ < 0)
            throw program::failure(program::environment,
                                   std::string("cannot make shared memory: ") + std::strerror(errno));
    }
    ~anonymous_file() { ::close(file_); }
    anonymous_file(const anonymous_file&) = delete;
    anonymous_file& operator=(const anonymous_file&) = delete;

    std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_); }
    std::string content() const {
        std::string text;
        char part[4096];
        for (ssize_t n; text.size() < list_bytes_max &&
                        (n = ::pread(file_, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
            text.append(part, static_cast<std::size_t>(n));
        return text;
    }

  private:
    int file_;
};

}  // namespace

std::vector<std::string> loaded_modules(const std::string& image, const std::vector<std::string>& linker) {
    const anonymous_file list;
    start_options options;
    options.stdin_path = options.stderr_path = "/dev/null";
    options.stdout_path = list.path();
    options.environment.emplace_back("LD_TRACE_LOADED_OBJECTS", "1");
    std::vector<std::string> command = linker;
    command.push_back(image);
    const pid_t pid = start(command.front(), command, options);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    // A line is "libm.so.6 => /lib/libm.so.6 (0x7f…)", "/lib64/ld-linux-x86-64.so.2 (0x7f…)" or "./libown.so (0x7f…)".
    std::vector<std::string> found;
    std::istringstream lines(list.content());
    for (std::string line; std::getline(lines, line);) {
        const std::size_t arrow = line.find(" => "), last = line.rfind(" (0x");
        const std::size_t first = arrow != std::string::npos ? arrow + 4 : line.find_first_not_of(" \t");
        if (last == std::string::npos || first >= last) continue;
        std::string path = line.substr(first, last - first);
        if (path.find('/') != std::string::npos) found.push_back(std::move(path));
    }
    return found;
}

}  // namespace millpond::measure
