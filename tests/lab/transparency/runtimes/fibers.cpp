// SPDX-License-Identifier: BSL-1.0
// Boost.Fiber: fibers that continue on any free thread, and threads that end with their schedulers.
#include <atomic>
#include <barrier>
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> bytes{0};

void run_on(unsigned threads) {
    std::barrier ready(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> workers;
    boost::fibers::mutex mutex;
    boost::fibers::condition_variable_any finished;
    int left = 60;
    const auto begin = [&ready] {
        boost::fibers::use_scheduling_algorithm<boost::fibers::algo::shared_work>();
        ready.arrive_and_wait();
    };
    const auto await_end = [&] {
        std::unique_lock lock(mutex);
        finished.wait(lock, [&] { return left == 0; });
    };
    for (unsigned i = 1; i < threads; ++i)
        workers.emplace_back([&] {
            begin();
            await_end();
        });
    begin();
    for (int i = 0; i < 60; ++i)
        boost::fibers::fiber([&, i] {
            auto text = std::make_unique<std::string>(static_cast<std::size_t>(i * 11), 'c');
            boost::this_fiber::yield();  // and goes on in another thread, perhaps
            bytes += static_cast<long>(text->size());
            text.reset();
            const std::unique_lock lock(mutex);
            if (--left == 0) finished.notify_all();
        }).detach();
    await_end();
    for (std::thread& each : workers) each.join();
}

}  // namespace

int main() {
    // A thread's scheduler is chosen once.
    for (unsigned round = 0; round < 12; ++round) std::thread(run_on, 2 + round % 7).join();
    std::printf("%ld\n", bytes.load());
    return bytes == 12 * 11 * 60 * 59 / 2 ? 0 : 1;
}
