// SPDX-License-Identifier: BSL-1.0
#include "lab/record/supervisor.hpp"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "lab/measure/preload_check.hpp"
#include "lab/measure/signal_relay.hpp"
#include "lab/measure/start.hpp"
#include "lab/probes/wanted_scopes.hpp"
#include "lab/program/program.hpp"
#include "lab/record/control.hpp"
#include "lab/record/own_library.hpp"
#include "lab/record/ring_keeper.hpp"
#include "lab/record/scan_server.hpp"
#include "lab/record/scope_list.hpp"
#include "lab/record/slot_keeper.hpp"
#include "lab/record/variable.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

process_end wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? process_end{0, WTERMSIG(status)} : process_end{WEXITSTATUS(status), 0};
}

// The same, but stops the child after `seconds`, like a user: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL.
process_end wait_for(pid_t child, double seconds) {
    if (seconds <= 0) return wait_for(child);
    std::atomic<int> sent = 0;
    process_end end;
    {
        const auto stop = [&](const std::stop_token& ended) {
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock lock(mutex);
            constexpr double patience = 5;
            for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
                const auto span = std::chrono::duration<double>(number == SIGINT ? seconds : patience);
                if (changed.wait_for(lock, ended, span, [&] { return ended.stop_requested(); })) return;
                sent = number;
                kill(child, number);
            }
        };
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const std::jthread stopper(stop);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        // Ended, but not yet reaped, so its pid is not reused while the thread may signal it.
        siginfo_t info;
        while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
    }
    end = wait_for(child);
    end.stopped_by = sent;
    return end;
}

}  // namespace

process_end run(const record_options& options) {
    const measure::preloadable root = measure::check_preloadable(options.command);
    const std::string observed = find_scopes(options, root.image);
    if (options.samples_owners && !preload::machine::keeps_registers)
        throw program::failure(program::environment,
                               "the caller's registers are sampled on x86-64 only: record without --owners");
    std::optional<control_server> control;
    try {
        control.emplace(options.file);
    } catch (const program::failure&) {  // another recording needs none: it only cannot be marked from outside
        if (options.is_idle) throw;
    }
    slot_keeper kept(options);
    measure::start_options start_options;
    start_options.dies_with_caller = options.dies_with_recorder;
    std::string libraries = own_library(options.sample_bytes != 0 ? "libmillpond-sample.so" : "libmillpond-record.so");
    if (!observed.empty()) libraries += ":" + own_library("libmillpond-probes.so");
    start_options.environment = {{"LD_PRELOAD", measure::preload_value(libraries)}, {variable, kept.partial()}};
    if (options.samples_owners) start_options.environment.emplace_back(owners_variable, "1");
    if (options.places_frees) start_options.environment.emplace_back(frees_variable, "1");
    if (!observed.empty()) start_options.environment.emplace_back(probes::scopes_variable, observed);
    kept.serve();
    std::optional<scan_server> scans;
    if (options.scans && kept.shared() != nullptr) scans.emplace(kept.partial(), *kept.shared());
    const measure::signal_relay relay;
    pid_t child = 0;
    try {
        child = measure::start(root.path, options.command, start_options);
    } catch (...) {
        kept.remove();
        throw;
    }
    kept.note_root(child);
    measure::signal_relay::started(child);
    if (control && kept.shared() != nullptr) {
        control->serve(child, *kept.shared());
        if (options.is_idle)
            program::say("asleep: `millpond trace control " + std::to_string(child) + " start` begins a trace");
    }
    std::optional<ring_keeper> ring;
    if (options.ring_minutes > 0) ring.emplace(kept.partial());
    process_end end = wait_for(child, options.seconds_max);
    ring.reset();
    scans.reset();
    control.reset();
    end.modules = root.modules;
    return end;
}

}  // namespace millpond::record
