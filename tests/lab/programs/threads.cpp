// SPDX-License-Identifier: BSL-1.0
// threads: objects that threads share and hand on. Usage: threads MODE [N]
//
//   hand_on   a ring of four threads: each allocates N objects, the next one frees them
//   ending    200 threads one after another, each leaves objects that main frees after it has gone
//   detached  threads without an end are still allocating when main returns
//   keys      destructors of thread-specific data allocate while their thread is ending
//   together  eight threads allocate and free N objects each at once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <string_view>
#include <thread>
#include <vector>

#include "marked.hpp"

namespace {

// A queue of objects from one thread to another.
class mailbox {
  public:
    void put(void* object) {
        {
            const std::lock_guard guard(mutex_);
            waiting_.push(object);
        }
        arrived_.notify_one();
    }

    void* take() {
        std::unique_lock guard(mutex_);
        arrived_.wait(guard, [this] { return !waiting_.empty(); });
        void* const object = waiting_.front();
        waiting_.pop();
        return object;
    }

  private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::queue<void*> waiting_;
};

int hand_on(unsigned long count) {
    constexpr unsigned long members = 4;
    mailbox boxes[members];
    std::vector<std::thread> ring;
    for (unsigned long me = 0; me < members; ++me) {
        ring.emplace_back([&, me] {
            for (unsigned long i = 0; i < count; ++i) {
                boxes[(me + 1) % members].put(marked::allocate(i));
                marked::release(boxes[me].take());
            }
        });
    }
    for (std::thread& member : ring) member.join();
    marked::say();
    return 0;
}

int ending() {
    std::vector<void*> left;
    for (unsigned long i = 0; i < 200; ++i) {
        std::thread([&] {
            marked::pass(i);
            left.push_back(marked::allocate(i));
        }).join();
    }
    for (void* object : left) marked::release(object);
    marked::say();
    return 0;
}

int detached() {
    std::atomic<int> running{0};
    for (int i = 0; i < 3; ++i) {
        std::thread([&running] {
            // Only their first object is counted: how far they come afterwards is not determined.
            marked::pass(1);
            ++running;
            for (;;) std::free(marked::written(std::malloc(100), 100));
        }).detach();
    }
    while (running != 3) std::this_thread::yield();
    marked::say();
    // Not through main's return: the threads use its variables.
    std::exit(0);
}

pthread_key_t key;

void last_words(void* round) {
    const auto left = reinterpret_cast<std::size_t>(round);
    marked::pass(left);
    if (left > 1) pthread_setspecific(key, reinterpret_cast<void*>(left - 1));
}

int keys() {
    if (pthread_key_create(&key, last_words) != 0) return 96;
    for (int i = 0; i < 20; ++i) {
        std::thread([] {
            struct farewell {
                ~farewell() { marked::pass(5); }
            };
            static thread_local farewell said;
            static_cast<void>(&said);
            pthread_setspecific(key, reinterpret_cast<void*>(std::size_t{3}));
        }).join();
    }
    marked::say();
    return 0;
}

int together(unsigned long count) {
    std::atomic<bool> started{false};
    std::vector<std::thread> team;
    for (unsigned long me = 0; me < 8; ++me) {
        team.emplace_back([&, me] {
            while (!started) std::this_thread::yield();
            void* held[16] = {};
            for (unsigned long i = 0; i < count; ++i) {
                void*& place = held[(i * 7 + me) % 16];
                if (place != nullptr) marked::release(place);
                place = marked::allocate(i);
                if (i % 5 == 0) place = marked::reallocate(place, i + me);
            }
            for (void* object : held) {
                if (object != nullptr) marked::release(object);
            }
        });
    }
    started = true;
    for (std::thread& member : team) member.join();
    marked::say();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    const unsigned long count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
    if (mode == "hand_on") return hand_on(count);
    if (mode == "ending") return ending();
    if (mode == "detached") return detached();
    if (mode == "keys") return keys();
    if (mode == "together") return together(count);
    return 2;
}
