// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/control_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lab/program/program.hpp"

namespace millpond::trial {

control_file::control_file(variant mode) {
    const auto fail = [this](const char* what) {
        const int error = errno;
        if (file_ >= 0) ::close(file_);
        throw program::failure(program::environment, std::string("cannot ") + what + ": " + std::strerror(error));
    };
    file_ = ::memfd_create("millpond-trial", MFD_CLOEXEC);
    if (file_ < 0) fail("make shared memory");
    if (::ftruncate(file_, sizeof(control)) != 0) fail("size shared memory");
    void* const mapped = ::mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) fail("map shared memory");
    shared_ = static_cast<control*>(mapped);  // all zero, which is its initial state
    shared_->bytes = sizeof(control);
    shared_->mode = mode;
    shared_->magic = control::magic_value;
    path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_);
}

control_file::~control_file() {
    ::munmap(shared_, sizeof(control));
    ::close(file_);
}

}  // namespace millpond::trial
