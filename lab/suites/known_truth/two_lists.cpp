// SPDX-License-Identifier: BSL-1.0
// two_lists: two lists grow in turns and are then walked many times, each by itself. Their nodes lie mixed.
// By hand: a multipool for each list, so that a walk touches half of the memory, in order.
#include <list>

#include "known_program.hpp"
#include "lab/suites/common/hidden.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

struct order {
    std::uint64_t number;
    std::uint64_t amount;
    std::uint64_t text[2];
};
struct event {
    std::uint64_t at;
    std::uint64_t text[5];
};

template <class Memory>
class order_book {
  public:
    explicit order_book(Memory& memory) : orders_(memory.template of<order>(0)) {}

    [[gnu::noinline]] void add(std::uint64_t number, std::uint64_t amount) {
        orders_.push_back(order{number, amount, {}});
    }
    [[gnu::noinline]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const order& one : orders_) sum += one.amount;
        return sum;
    }

  private:
    std::list<order, typename Memory::template allocator<order>> orders_;
};

template <class Memory>
class event_log {
  public:
    explicit event_log(Memory& memory) : events_(memory.template of<event>(1)) {}

    [[gnu::noinline]] void add(std::uint64_t at) { events_.push_back(event{at, {}}); }
    [[gnu::noinline]] std::uint64_t latest() const {
        std::uint64_t latest = 0;
        for (const event& one : events_) latest = one.at > latest ? one.at : latest;
        return latest;
    }

  private:
    std::list<event, typename Memory::template allocator<event>> events_;
};

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    order_book<Memory> orders(memory);
    event_log<Memory> events(memory);
    random_numbers draw(1);
    for (std::uint64_t i = 0; i < 150'000; ++i) {
        if (draw.below(2) != 0) orders.add(i, draw.below(1000));
        if (draw.below(2) != 0) events.add(i);
    }
    std::uint64_t sum = events.latest();
    for (std::uint64_t i = 0; i < repeats; ++i) {
        sum = sum * 31 + orders.total();
        clobber();
    }
    return sum;
}

}  // namespace

const known_program two_lists{"two_lists", "a multipool for each of the two lists", run<heap>, run<pools<multipool<>>>,
                              1200};

}  // namespace millpond::suites
