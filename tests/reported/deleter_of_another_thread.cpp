// SPDX-License-Identifier: BSL-1.0
// Report: foonathan/memory 25
// Situation: objects of a synchronised pool are released by reference counting in whichever thread drops them
//   last.
// Holds: no block is lost or given twice.
// Library: yes
#include <atomic>
#include <cstdio>
#include <memory>
#include <millpond/millpond.hpp>
#include <thread>
#include <vector>
static std::atomic<long> living = 0;
struct thing {
    long values[9];
    thing() { ++living, values[0] = 1; }
    ~thing() { --living; }
};
int main() {
    millpond::synchronized_multipool<> pool;
    auto drop = [&pool](thing* one) {
        one->~thing();
        pool.deallocate(one, sizeof(thing), alignof(thing));
    };
    for (int round = 0; round < 20; ++round) {
        std::vector<std::shared_ptr<thing>> shared;
        for (int i = 0; i < 500; ++i)
            shared.emplace_back(new (pool.allocate(sizeof(thing), alignof(thing))) thing, drop);
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([copy = shared]() mutable {
                while (!copy.empty()) copy.pop_back();
            });
        shared.clear();
        for (std::thread& thread : threads) thread.join();
    }
    std::puts(living == 0 ? "ok" : "an object was lost");
    return living != 0;
}
