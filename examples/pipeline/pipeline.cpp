// SPDX-License-Identifier: BSL-1.0
// pipeline: one thread makes messages, another one reads them and frees them.
//
//   producer ──▶ batches of messages, at most eight wait ──▶ consumer
//    allocates                                                frees
//
// The change in pipeline_changed: the messages and their texts come from a pool that the threads share.
// Usage: pipeline [--repeats N] [--seed N]
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "../common/command_line.hpp"

namespace pipeline {

using text = std::string;

struct message {
    std::uint64_t number;
    text body;
};

using message_ptr = std::unique_ptr<message>;
using batch = std::vector<message_ptr>;

class mailbox {
  public:
    void send(batch messages) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_.size() < 8; });
        waiting_.push(std::move(messages));
        changed_.notify_all();
    }
    batch receive() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !waiting_.empty(); });
        batch messages = std::move(waiting_.front());
        waiting_.pop();
        changed_.notify_all();
        return messages;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::queue<batch> waiting_;
};

class message_maker {
  public:
    [[gnu::noinline]] message_ptr make(std::uint64_t number, std::size_t letters) {
        return std::make_unique<message>(message{number, text(letters, static_cast<char>('a' + number % 26))});
    }
};

[[gnu::noinline]] std::uint64_t consume(const message& read) {
    std::uint64_t sum = read.number;
    for (std::size_t i = 0; i < read.body.size(); i += 16) sum += static_cast<unsigned char>(read.body[i]);
    return sum;
}

[[gnu::noinline]] std::uint64_t run(std::uint32_t batches, std::uint64_t seed) {
    message_maker maker;
    mailbox box;
    std::uint64_t checksum = 0;
    std::thread consumer([&] {
        for (std::uint32_t i = 0; i < batches; ++i) {
            for (const message_ptr& read : box.receive()) checksum = checksum * 1099511628211u + consume(*read);
        }
    });
    examples::dice chance(seed);
    for (std::uint64_t i = 0; i < batches; ++i) {
        batch messages;
        messages.reserve(500);
        for (std::uint64_t n = 0; n < 500; ++n) messages.push_back(maker.make(i * 500 + n, 20 + chance.below(400)));
        box.send(std::move(messages));
    }
    consumer.join();
    return checksum;
}

}  // namespace pipeline

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 6'000};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    examples::print_checksum(pipeline::run(chosen.repeats, chosen.seed));
    return 0;
}
