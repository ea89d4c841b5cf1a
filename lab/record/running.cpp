// SPDX-License-Identifier: BSL-1.0
#include "lab/record/running.hpp"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "lab/record/variable.hpp"

namespace millpond::record {
namespace {

struct wanted_file {
    const std::string& path;
    std::uint64_t device, inode;
};

// Returns whether a line of /proc/PID/maps belongs to the file: "first-last rwxs offset major:minor inode path". Some
// file systems show another device there than stat.
bool is_of(const std::string& line, const wanted_file& wanted) {
    unsigned major_number = 0, minor_number = 0;
    unsigned long long inode = 0;
    return std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %llu", &major_number, &minor_number, &inode) == 3 &&
           inode == wanted.inode &&
           (makedev(major_number, minor_number) == wanted.device || line.ends_with(" " + wanted.path));
}

bool has_mapped(const std::filesystem::path& process, const wanted_file& wanted) {
    std::ifstream file(process / "maps");
    for (std::string line; std::getline(file, line);)
        if (is_of(line, wanted)) return true;
    return false;
}

bool was_started_with(const std::filesystem::path& process, const std::string& path) {
    std::ifstream file(process / "environ");
    for (std::string line; std::getline(file, line, '\0');)
        if (line == variable + ("=" + path)) return true;
    return false;
}

// Returns the last number of "NSpid:\t4711\t12".
std::uint64_t own_pid_of(const std::filesystem::path& process, std::uint64_t pid) {
    std::ifstream file(process / "status");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("NSpid:")) continue;
        std::istringstream numbers(line.substr(6));
        for (std::uint64_t number; numbers >> number;) pid = number;
    }
    return pid;
}

std::uint64_t start_of(const std::filesystem::path& process) {
    std::ifstream file(process / "stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') == std::string::npos ? 0 : line.rfind(')') + 1));
    std::string field;
    constexpr int start_time = 20;  // fields behind the name
    for (int i = 0; i < start_time && fields >> field;) ++i;
    return std::strtoull(field.c_str(), nullptr, 10) * 1000000000u / static_cast<unsigned long>(sysconf(_SC_CLK_TCK));
}

}  // namespace

bool running_process::is(const mpt_slot_process& facts) const {
    constexpr std::uint64_t tick_ns = 20'000'000;
    return has_mapped && own_pid == facts.pid && start_ns <= facts.start_ns + tick_ns;
}

std::vector<running_process> find_running(const std::string& path, std::uint64_t device, std::uint64_t inode) {
    std::vector<running_process> found;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
        const std::string name = entry.path().filename();
        std::uint64_t pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error != std::errc{} || end != name.data() + name.size()) continue;
        const bool mapped = has_mapped(entry.path(), {path, device, inode});
        if (mapped || was_started_with(entry.path(), path))
            found.push_back({pid, own_pid_of(entry.path(), pid), start_of(entry.path()), mapped});
    }
    return found;
}

}  // namespace millpond::record
