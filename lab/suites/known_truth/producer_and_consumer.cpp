// SPDX-License-Identifier: BSL-1.0
// producer_and_consumer: one thread allocates messages of many sizes, another one reads and frees them.
// By hand: a synchronized_multipool for the messages.
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"
#include "millpond/local/synchronized_multipool.hpp"

namespace millpond::suites {
namespace {

struct message {
    unsigned char* text;
    std::size_t bytes;
};

// Batches of messages on their way from one thread to the other; at most eight wait.
class mailbox {
  public:
    void send(std::vector<message> batch) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_.size() < 8; });
        waiting_.push_back(std::move(batch));
        changed_.notify_all();
    }
    [[nodiscard]] std::vector<message> receive() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !waiting_.empty(); });
        std::vector<message> batch = std::move(waiting_.front());
        waiting_.erase(waiting_.begin());
        changed_.notify_all();
        return batch;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<message>> waiting_;
};

template <class Memory>
class message_maker {
  public:
    explicit message_maker(Memory& memory) : memory_(memory.template of<unsigned char>(0)) {}

    [[gnu::noinline]] message make(random_numbers& draw) {
        const std::size_t bytes = 32 + draw.below(400);
        unsigned char* const text = memory_.allocate(bytes);
        std::memset(text, static_cast<int>(bytes), bytes);
        return {text, bytes};
    }
    [[gnu::noinline]] std::uint64_t consume(const message& one) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < one.bytes; i += 16) sum += one.text[i];
        memory_.deallocate(one.text, one.bytes);
        return sum;
    }

  private:
    typename Memory::template allocator<unsigned char> memory_;
};

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    mailbox box;
    std::uint64_t sum = 0;
    std::thread consumer([&] {
        message_maker<Memory> messages(memory);
        for (std::uint64_t i = 0; i < repeats; ++i) {
            for (const message& one : box.receive()) sum += messages.consume(one);
        }
    });
    message_maker<Memory> messages(memory);
    random_numbers draw(5);
    for (std::uint64_t i = 0; i < repeats; ++i) {
        std::vector<message> batch(1000);
        for (message& one : batch) one = messages.make(draw);
        box.send(std::move(batch));
    }
    consumer.join();
    return sum;
}

}  // namespace

const known_program producer_and_consumer{"producer_and_consumer", "a synchronized_multipool for the messages",
                                          run<heap>, run<pools<synchronized_multipool<>, ending::each, 1>>, 2000};

}  // namespace millpond::suites
