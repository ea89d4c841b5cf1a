// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/counters.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

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
        case EINVAL:
            return "the kernel does not count it for one process: an event of the whole socket, or one it does not "
                   "know";
        case ENOSYS:
            return "there is no perf_event_open: the kernel was built without it, or a filter hides it";
        default:
            return std::strerror(error);
    }
}

int open_event(const event& wanted) noexcept {
    const std::uint8_t excludes = excluded(wanted);
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = wanted.type;
    attributes.config = wanted.config;
    attributes.config1 = wanted.config1;
    attributes.config2 = wanted.config2;
    attributes.exclude_user = (excludes & event::user) != 0;
    attributes.exclude_kernel = (excludes & event::kernel) != 0;
    attributes.exclude_hv = (excludes & event::hypervisor) != 0;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

count null_of(const event& of, std::string why) {
    return {std::string(of.name), std::nullopt, std::move(why), 0, std::string(of.counted_as)};
}

count read_event(const event& of, int file) {
    counter_reading read{};
    if (::read(file, &read, sizeof read) != static_cast<ssize_t>(sizeof read)) {
        return null_of(of, "it can be opened, but not read");
    }
    return count_of(of, read);
}

}  // namespace

count count_of(const event& of, const counter_reading& read) {
    if (read.enabled_ns == 0) return null_of(of, "it was never enabled: the kernel has no room for it in this window");
    if (read.running_ns == 0) {
        return null_of(of, "it never ran in this window: other events and other users hold the counters");
    }
    if (read.value == 0 && of.always_moves) return null_of(of, "it can be opened, but stays at zero");
    if (read.running_ns >= read.enabled_ns) {
        return {std::string(of.name), read.value, "", 1.0, std::string(of.counted_as)};
    }
    // 64 bits of precision, which a double lacks.
    const long double share = static_cast<long double>(read.running_ns) / static_cast<long double>(read.enabled_ns);
    const auto scaled = static_cast<std::uint64_t>(std::llround(static_cast<long double>(read.value) / share));
    return {std::string(of.name), scaled, "", static_cast<double>(share), std::string(of.counted_as)};
}

counters::counters(const std::vector<event>& wanted) {
    all_.reserve(wanted.size());
    for (const event& each : wanted) {
        const int file = each.why_null.empty() ? open_event(each) : -1;
        all_.push_back({each, file, file < 0 ? errno : 0});
    }
}

counters::~counters() {
    for (const open_counter& each : all_) {
        if (each.file >= 0) ::close(each.file);
    }
}

// Starts all counters of the thread at once, and those of its threads, so that none counts the switching of the others.
void counters::start() noexcept { ::prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0); }
void counters::stop() noexcept { ::prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0); }

std::vector<count> counters::read() const {
    std::vector<count> result;
    result.reserve(all_.size());
    for (const open_counter& each : all_) {
        const std::string_view known = each.of.why_null;
        if (each.file >= 0) {
            result.push_back(read_event(each.of, each.file));
        } else {
            result.push_back(null_of(each.of, known.empty() ? reason(each.error) : std::string(known)));
        }
    }
    return result;
}

}  // namespace millpond::measure
