// SPDX-License-Identifier: BSL-1.0
// order_queues_changed: order_queues, with a pool for each queue.
//
//   queue 1  ●●●●●●●●        in memory the orders of a queue follow one another
//   queue 2          ●●●●●●
//
// Usage: order_queues_changed [--repeats N] [--seed N]
#include <cstdint>
#include <list>
#include <memory>
#include <millpond/millpond.hpp>
#include <vector>

#include "../common/command_line.hpp"

namespace order_queues {

using pool = millpond::in_mode<millpond::multipool<>>;

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
    // The pool lies outside the queue object, so that a queue can be moved while its orders stay where they are.
    std::unique_ptr<pool> pool_ = std::make_unique<pool>();
    std::list<order, millpond::allocator<order, pool>> orders_{pool_.get()};
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
