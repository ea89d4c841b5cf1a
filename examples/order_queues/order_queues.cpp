// SPDX-License-Identifier: BSL-1.0
// order_queues: 64 queues of orders, one for each product; they grow in turns and are walked one by one.
//
//   queue 1  ●─────────●───────●──      in memory their orders alternate, so that a walk of one queue
//   queue 2    ●───●───────●──────      touches the cache lines of all others
//
// Call stacks do not tell the queues apart: one function adds to all of them.
// The change in order_queues_changed: each queue has a pool of its own.
// Usage: order_queues [--repeats N] [--seed N]
#include <cstdint>
#include <list>
#include <vector>

#include "../common/command_line.hpp"

namespace order_queues {

struct order {
    std::uint32_t number;
    std::uint32_t pieces;
};

class queue {
  public:
    [[gnu::noinline]] void add(order placed) { orders_.push_back(placed); }
    [[gnu::noinline]] void serve_first() { orders_.pop_front(); }
    [[gnu::noinline]] std::uint64_t pieces() const {
        std::uint64_t sum = 0;
        for (const order& waiting : orders_) sum += waiting.pieces;
        return sum;
    }

  private:
    std::list<order> orders_;
};

[[gnu::noinline]] std::uint64_t trade(std::uint32_t days, std::uint64_t seed) {
    std::vector<queue> queues(64);
    examples::dice chance(seed);
    std::uint32_t number = 0;
    const auto place_orders = [&](std::uint32_t orders) {
        for (std::uint32_t i = 0; i < orders; ++i) queues[chance.below(64)].add({++number, 1 + chance.below(20)});
    };
    place_orders(400'000);
    std::uint64_t checksum = 0;
    for (std::uint32_t day = 0; day < days; ++day) {
        queue& busiest = queues[chance.below(64)];
        for (int look = 0; look < 40; ++look) {
            checksum = checksum * 1099511628211u + busiest.pieces();
            busiest.add({++number, 1});
        }
        for (int served = 0; served < 40; ++served) busiest.serve_first();
    }
    return checksum;
}

}  // namespace order_queues

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 100};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    examples::print_checksum(order_queues::trade(chosen.repeats, chosen.seed));
    return 0;
}
