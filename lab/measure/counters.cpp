// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/counters.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

namespace millpond::measure {
namespace {

std::string paranoia() {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    std::string level;
    return file >> level ? "perf_event_paranoid is " + level : "perf_event_paranoid cannot be read";
}

std::string reason(int error) {
    switch (error) {
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
            return "this processor, or the hypervisor above it, offers no such counter";
        case EACCES:
            return "the kernel forbids it: " + paranoia();
        case EPERM:
            return "forbidden by the kernel or by a filter of system calls: " + paranoia();
        case ENOSYS:
            return "there is no perf_event_open: the kernel was built without it, or a filter hides it";
        default:
            return std::strerror(error);
    }
}

int open_event(const event& wanted) noexcept {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = wanted.type;
    attributes.config = wanted.config;
    attributes.exclude_kernel = wanted.type != PERF_TYPE_SOFTWARE;
    attributes.exclude_hv = 1;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

count read_event(const event& of, int file) {
    count result{std::string(of.name), std::nullopt, "", 0};
    std::uint64_t values[3] = {0, 0, 0};  // the count, and for how long it was enabled and running
    if (::read(file, values, sizeof values) != static_cast<ssize_t>(sizeof values)) {
        result.why_null = "it can be opened, but not read";
    } else if (values[2] == 0) {
        result.why_null = "it can be opened, but never counts: other users hold the counters";
    } else if (values[0] == 0 && of.always_moves) {
        result.why_null = "it can be opened, but stays at zero";
    } else {
        result.running_share = static_cast<double>(values[2]) / static_cast<double>(values[1]);
        const bool whole = values[2] >= values[1];
        result.value =
            whole ? values[0]
                  : static_cast<std::uint64_t>(std::llround(static_cast<double>(values[0]) / result.running_share));
    }
    return result;
}

}  // namespace

counters::counters(std::vector<event> wanted) {
    all_.reserve(wanted.size());
    for (const event& each : wanted) {
        const int file = open_event(each);
        all_.push_back({each, file, file < 0 ? errno : 0});
    }
}

counters::~counters() {
    for (const opened& each : all_) {
        if (each.file >= 0) ::close(each.file);
    }
}

// All of the thread's at once, and those of the threads that it started: none of them counts the others' switching.
void counters::start() noexcept { ::prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0); }
void counters::stop() noexcept { ::prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0); }

std::vector<count> counters::read() const {
    std::vector<count> result;
    result.reserve(all_.size());
    for (const opened& each : all_) {
        result.push_back(each.file >= 0 ? read_event(each.of, each.file)
                                        : count{std::string(each.of.name), std::nullopt, reason(each.error), 0});
    }
    return result;
}

}  // namespace millpond::measure
