// SPDX-License-Identifier: BSL-1.0
#include "lab/record/attached_run.hpp"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "lab/attach/attachment.hpp"
#include "lab/program/program.hpp"
#include "lab/record/control.hpp"
#include "lab/record/own_library.hpp"
#include "lab/record/ring_keeper.hpp"
#include "lab/record/slot_keeper.hpp"

namespace millpond::record {
namespace {

// Blocks the signals that ask this program to end, and receives them as data.
class end_requests {
  public:
    end_requests() {
        sigset_t asked;
        sigemptyset(&asked);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&asked, number);
        pthread_sigmask(SIG_BLOCK, &asked, &before_);
        file_ = signalfd(-1, &asked, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    ~end_requests() {
        signalfd_siginfo info{};
        while (read(file_, &info, sizeof info) > 0) {
        }
        close(file_);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    end_requests(const end_requests&) = delete;
    end_requests& operator=(const end_requests&) = delete;
    int file() const { return file_; }

  private:
    sigset_t before_{};
    int file_ = -1;
};

// Waits until the process ends, a signal comes, or the time is up (0: never). Where the system gives no descriptor of a
// process, it looks every 100 ms.
void wait_for_end(const attach::target_process& process, const end_requests& requests, double seconds) {
    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::duration_cast<clock::duration>(
                                          std::chrono::duration<double>(std::min(seconds, 1e9)));
    const int ended = static_cast<int>(syscall(SYS_pidfd_open, process.pid(), 0));
    std::array<pollfd, 2> waited = {{{requests.file(), POLLIN, 0}, {ended, POLLIN, 0}}};
    while (process.is_running()) {
        std::chrono::nanoseconds longest = ended >= 0 ? std::chrono::hours(1) : std::chrono::milliseconds(100);
        if (seconds > 0) longest = std::clamp<std::chrono::nanoseconds>(until - clock::now(), {}, longest);
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
        const timespec span{whole.count(), (longest - whole).count()};
        if (ppoll(waited.data(), waited.size(), &span, nullptr) > 0) break;
        if (seconds > 0 && clock::now() >= until) break;
    }
    if (ended >= 0) close(ended);
}

std::string milliseconds(std::chrono::microseconds time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(time.count()) / 1000);
    return text;
}

}  // namespace

void run_attached(const record_options& options) {
    const end_requests requests;
    const auto [own, other] = options.sample_bytes != 0 ? std::pair("libmillpond-sample.so", "libmillpond-record.so")
                                                        : std::pair("libmillpond-record.so", "libmillpond-sample.so");
    attach::attachment attachment(options.attached_pid, {own_library(own), own_library(other)});
    slot_keeper kept(options);
    if (kept.shared() == nullptr) {
        kept.remove();
        throw program::failure(program::environment, "cannot map " + kept.partial() + ": " + strerror(errno));
    }
    kept.note_root(attachment.process().own_pid());
    kept.serve();
    std::optional<control_server> control;
    try {
        control.emplace(options.file);
    } catch (const program::failure&) {  // then it only cannot be marked from outside
    }
    try {
        attachment.begin(kept.partial(), options.places_frees);
    } catch (...) {
        kept.remove();
        throw;
    }
    mpt_slot_file& shared = *kept.shared();
    const std::uint32_t turn = __atomic_load_n(&shared.turn, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&shared.turn, turn, __ATOMIC_SEQ_CST);
    if (control) control->serve(options.attached_pid, shared);
    std::optional<ring_keeper> ring;
    if (options.ring_minutes > 0) ring.emplace(kept.partial());
    program::say("attached to process " + std::to_string(options.attached_pid) + ", which was stopped for " +
                 milliseconds(attachment.longest_stop()));
    wait_for_end(attachment.process(), requests, options.seconds_max);
    const auto sleep = [&] {
        __atomic_store_n(&shared.stopped, turn, __ATOMIC_RELAXED);
        __atomic_store_n(&shared.turn, turn + 1, __ATOMIC_SEQ_CST);
    };
    if (!attachment.process().is_running()) {
        program::say("the program has ended");
        return;
    }
    try {
        attachment.end();
        sleep();
        if (!attachment.release()) program::say("a thread stays inside the recorder, so its memory stays, too");
        program::say("detached; the program was stopped for at most " + milliseconds(attachment.longest_stop()));
    } catch (const program::failure& why) {
        sleep();
        program::say(why.what());
    }
}

}  // namespace millpond::record
