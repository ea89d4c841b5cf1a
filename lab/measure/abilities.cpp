// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/abilities.hpp"

#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lab/measure/costs.hpp"
#include "lab/measure/named_events.hpp"

namespace millpond::measure {
namespace {

constexpr event wanted_events[] = {
    instructions_event,
    cycles_event,
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    branch_misses_event,
    l1d_misses_event,
    dtlb_misses_event,
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

}  // namespace

count try_event(const event& wanted) {
    counters alone({wanted});
    alone.start();
    spin(10'000);
    alone.stop();
    return alone.read().front();
}

std::vector<ability> counter_abilities() {
    std::vector<ability> result;
    for (const event& wanted : wanted_events) {
        const count found = try_event(wanted);
        result.push_back({found.name, found.value.has_value(), found.why_null});
    }
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
