// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/scratch_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "lab/program/program.hpp"

namespace millpond::trial {

scratch_file::scratch_file(const std::string& content) : file_(::memfd_create("millpond-scratch", MFD_CLOEXEC)) {
    std::size_t written = 0;
    while (file_ >= 0 && written < content.size()) {
        const ssize_t more = ::write(file_, content.data() + written, content.size() - written);
        if (more <= 0) break;
        written += static_cast<std::size_t>(more);
    }
    if (file_ < 0 || written < content.size()) {
        if (file_ >= 0) ::close(file_);
        throw program::failure(program::environment, "no memory for the routes of a plan");
    }
    path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
}

scratch_file::~scratch_file() { ::close(file_); }

}  // namespace millpond::trial
