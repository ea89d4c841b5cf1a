// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/whole_file.hpp"

#include <system_error>

#include "lab/files/aside_file.hpp"
#include "lab/files/regular_file.hpp"
#include "lab/trial/trial_error.hpp"

namespace millpond::trial {
namespace {

[[noreturn]] void cannot_write(const std::system_error& error) {
    throw trial_error(trial_error::environment_lacks,
                      std::string(error.what()) + "; choose a place that can be written");
}

}  // namespace

std::string read_whole(const std::string& path, std::size_t bytes_max) {
    try {
        return lab::read_regular(path, bytes_max);
    } catch (const lab::file_error& error) {
        throw trial_error(trial_error::bad_input, error.what());
    }
}

void write_whole(const std::string& path, const std::string& content) {
    try {
        lab::write_whole(path, content);
    } catch (const std::system_error& error) {
        cannot_write(error);
    }
}

void check_writable(const std::string& path) {
    try {
        lab::prove_writable(path);
    } catch (const std::system_error& error) {
        cannot_write(error);
    }
}

}  // namespace millpond::trial
