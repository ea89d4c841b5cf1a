// SPDX-License-Identifier: BSL-1.0
// team: threads that do a piece of work together, and meet at points where it can be timed.
//
//   thread 1 ── prepare ──┤arrive          ├── work ──┤arrive          ├── end
//   thread 2 ── prepare ──┤first clock read├── work ──┤second clock    ├── end
//
// An error in a thread ends its part; it is thrown again after all threads have ended.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "lab/measure/clocks.hpp"

namespace millpond::suites {

// Threads that start together; keeps the first error of any of them.
class team {
  public:
    // Runs `work(index, arrive)` in each thread; every call of arrive waits for all. Returns: wall time and CPU time in
    // ns from the `first` to the last of these meetings; `meetings` is their number.
    struct times {
        double wall_ns, cpu_ns;
    };

    template <class Work>
    times run(std::uint64_t threads, Work work) {
        double wall[2] = {};
        double cpu[2] = {};
        int met = 0;
        const auto stamp = [&]() noexcept {
            if (met < 2) {
                wall[met] = measure::wall_seconds() * 1e9;
                cpu[met] = measure::process_cpu_seconds() * 1e9;
            }
            ++met;
        };
        std::barrier meeting(static_cast<std::ptrdiff_t>(threads), stamp);
        std::vector<std::thread> all;
        all.reserve(threads);
        for (std::uint64_t i = 0; i < threads; ++i) {
            all.emplace_back([&, i] {
                const auto arrive = [&] { meeting.arrive_and_wait(); };
                try {
                    work(i, arrive);
                } catch (...) {
                    const std::lock_guard lock(mutex_);
                    if (!error_) error_ = std::current_exception();
                    meeting.arrive_and_drop();
                }
            });
        }
        for (std::thread& each : all) each.join();
        if (error_) std::rethrow_exception(error_);
        return {wall[1] - wall[0], cpu[1] - cpu[0]};
    }

  private:
    std::mutex mutex_;
    std::exception_ptr error_;
};

}  // namespace millpond::suites
