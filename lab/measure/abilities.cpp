// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/abilities.hpp"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "lab/measure/costs.hpp"

namespace millpond::measure {
namespace {

struct counter {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
};

constexpr std::uint64_t cache_miss(std::uint64_t cache) {
    return cache | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
}

constexpr counter counters[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"l1d_misses", PERF_TYPE_HW_CACHE, cache_miss(PERF_COUNT_HW_CACHE_L1D)},
    {"dtlb_misses", PERF_TYPE_HW_CACHE, cache_miss(PERF_COUNT_HW_CACHE_DTLB)},
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

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

ability try_counter(const counter& wanted) {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = wanted.type;
    attributes.config = wanted.config;
    attributes.exclude_kernel = wanted.type != PERF_TYPE_SOFTWARE;
    attributes.exclude_hv = 1;
    attributes.disabled = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long descriptor = ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) return {wanted.name, false, reason(errno)};
    const int file = static_cast<int>(descriptor);
    ::ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
    spin(10'000);
    ::ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t values[3] = {0, 0, 0};  // the count, and for how long it was enabled and running
    const bool whole = ::read(file, values, sizeof values) == static_cast<ssize_t>(sizeof values);
    ::close(file);
    if (!whole) return {wanted.name, false, "it can be opened, but not read"};
    if (values[2] == 0)
        return {wanted.name, false, "it can be opened, but never counts: other users hold the counters"};
    const bool always_moves = wanted.type == PERF_TYPE_HARDWARE && (wanted.config == PERF_COUNT_HW_INSTRUCTIONS ||
                                                                    wanted.config == PERF_COUNT_HW_CPU_CYCLES);
    if (values[0] == 0 && always_moves) return {wanted.name, false, "it can be opened, but stays at zero"};
    return {wanted.name, true, ""};
}

}  // namespace

std::vector<ability> counter_abilities() {
    std::vector<ability> result;
    for (const counter& wanted : counters) result.push_back(try_counter(wanted));
    return result;
}

ability ptrace_ability() {
    const pid_t child = ::fork();
    if (child < 0) return {"ptrace", false, std::string("no process can be made: ") + std::strerror(errno)};
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(errno);
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    pid_t got;
    do got = ::waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    if (got == child && WIFSTOPPED(status)) {
        ::kill(child, SIGKILL);
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return {"ptrace", true, ""};
    }
    return {"ptrace", false, WIFEXITED(status) ? std::strerror(WEXITSTATUS(status)) : "the traced child died"};
}

}  // namespace millpond::measure
