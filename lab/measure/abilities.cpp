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
#include "lab/measure/counters.hpp"

namespace millpond::measure {
namespace {

constexpr event wanted_events[] = {
    instructions_event,
    cycles_event,
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    l1d_misses_event,
    {"dtlb_misses", PERF_TYPE_HW_CACHE, cache_reads(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

ability try_event(const event& wanted) {
    counters alone({wanted});
    alone.start();
    spin(10'000);
    alone.stop();
    const count found = alone.read().front();
    return {found.name, found.value.has_value(), found.why_null};
}

}  // namespace

std::vector<ability> counter_abilities() {
    std::vector<ability> result;
    for (const event& wanted : wanted_events) result.push_back(try_event(wanted));
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
