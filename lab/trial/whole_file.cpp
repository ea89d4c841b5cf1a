// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "lab/trial/trial_error.hpp"

namespace millpond::trial {
namespace {

std::string beside(const std::string& path) { return path + ".partial"; }

[[noreturn]] void cannot_write(const std::string& path) {
    const int error = errno;
    std::remove(beside(path).c_str());
    throw trial_error(trial_error::environment_lacks, path + ": cannot be written: " + std::strerror(error));
}

}  // namespace

std::string read_whole(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf()))
        throw trial_error(trial_error::bad_input,
                          path + ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "it is empty"));
    return text.str();
}

void write_whole(const std::string& path, const std::string& content) {
    std::ofstream out(beside(path), std::ios::binary | std::ios::trunc);
    out << content;
    out.close();
    if (!out || std::rename(beside(path).c_str(), path.c_str()) != 0) cannot_write(path);
}

void check_writable(const std::string& path) {
    std::ofstream out(beside(path), std::ios::binary | std::ios::trunc);
    if (!out) cannot_write(path);
    out.close();
    std::remove(beside(path).c_str());
}

}  // namespace millpond::trial
