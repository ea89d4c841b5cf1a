// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/scratch_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "lab/program/aside_file.hpp"
#include "lab/program/program.hpp"

namespace millpond::trial {

scratch_file::scratch_file(const std::string& content) : file_(::memfd_create("millpond-scratch", MFD_CLOEXEC)) {
    if (file_ < 0 || !program::write_all(file_, content)) {
        if (file_ >= 0) ::close(file_);
        throw program::failure(program::environment, "no memory for the routes of a plan");
    }
    path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
}

scratch_file::~scratch_file() { ::close(file_); }

}  // namespace millpond::trial
