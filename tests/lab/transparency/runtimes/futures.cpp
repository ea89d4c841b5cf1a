// SPDX-License-Identifier: BSL-1.0
// std::async, and many short threads: some allocate nothing, some are detached, some free foreign blocks.
// Usage: futures [THREADS]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace {

long numbers() {
    std::vector<std::future<std::string>> found;
    found.reserve(40);
    for (std::size_t i = 0; i < 40; ++i)
        found.push_back(std::async(std::launch::async, [i] { return std::string(i * 13, 'd'); }));
    long sum = 0;
    for (auto& each : found) sum += static_cast<long>(each.get().size());
    return sum;
}

std::atomic<int> running{0};

void short_threads(int count) {
    for (int i = 0; i < count; ++i) {
        while (running.load() > 24) std::this_thread::yield();
        ++running;
        if (i % 3 == 0) {
            std::thread([] { --running; }).detach();
        } else if (i % 3 == 1) {
            std::thread([text = new std::string(100, 'e')] {
                delete text;
                --running;
            }).detach();
        } else {
            std::thread([i] {
                const std::vector<int> some(static_cast<std::size_t>(i % 500));
                --running;
            }).detach();
        }
    }
    while (running.load() != 0) std::this_thread::yield();
}

}  // namespace

int main(int count, char** words) {
    long sum = 0;
    for (int round = 0; round < 5; ++round) sum += numbers();
    short_threads(count > 1 ? std::atoi(words[1]) : 1000);
    std::printf("%ld\n", sum);
    return sum == 5L * 13 * 40 * 39 / 2 ? 0 : 1;
}
