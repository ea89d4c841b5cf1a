// SPDX-License-Identifier: BSL-1.0
#include "lab/record/ring_keeper.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "lab/trace/trace_ring.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

std::uint64_t boot_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// Returns the tick `ns` ago by the clock of the process since its start; 0 if that lies before its start.
std::uint64_t tick_before(std::uint64_t ns, const mpt_slot_process& facts) noexcept {
    const std::uint64_t ticks = preload::machine::ticks(), now_ns = boot_ns();
    if (ticks <= facts.start_ticks || now_ns <= facts.start_ns + ns) return 0;
    const double rate = static_cast<double>(ticks - facts.start_ticks) / static_cast<double>(now_ns - facts.start_ns);
    return ticks - static_cast<std::uint64_t>(static_cast<double>(ns) * rate);
}

}  // namespace

ring_keeper::ring_keeper(std::string partial) : partial_(std::move(partial)) {
    // Signals go to the thread that relays them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ring_keeper::~ring_keeper() {
    thread_ = {};
    (void)cut();
}

std::chrono::nanoseconds ring_keeper::cut() const {
    constexpr std::chrono::nanoseconds shortest = std::chrono::milliseconds(50), longest = std::chrono::minutes(1);
    constexpr std::uint64_t rounds = 16;
    try {
        trace::slot_reader file(partial_);
        const std::uint64_t ring_ns = file.header().ring_ns;
        for (trace::slot_process process : file.processes()) {
            const std::uint64_t tick = tick_before(ring_ns, process.facts);
            if (process.facts.finished == 0 && tick > process.facts.start_ticks)
                (void)trace::drop_before(file, process, tick);
        }
        return std::clamp(std::chrono::nanoseconds(ring_ns / rounds), shortest, longest);
    } catch (const std::exception& later) {  // the recording goes on; the next round may have room
        return longest;
    }
}

void ring_keeper::keep(const std::stop_token& stop) const {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, cut(), [&] { return stop.stop_requested(); })) {
    }
}

}  // namespace millpond::record
