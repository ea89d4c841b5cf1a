// SPDX-License-Identifier: BSL-1.0
// size_churn: blocks of many sizes come and go in a random order, on one thread or on two; little else happens.
// By hand: a multipool for each thread. A faster malloc gives most of it without a change.
#include <thread>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

template <class Memory>
class blocks {
  public:
    explicit blocks(Memory& memory) : memory_(memory.template of<unsigned char>(0)), held_(4000) {}
    blocks(const blocks&) = delete;
    blocks& operator=(const blocks&) = delete;
    ~blocks() {
        for (const block& one : held_) {
            if (one.start != nullptr) memory_.deallocate(one.start, one.bytes);
        }
    }

    [[gnu::noinline]] std::uint64_t replace(std::uint64_t place, std::size_t bytes) {
        block& one = held_[place];
        const std::uint64_t was = one.start != nullptr ? *one.start : 0;
        if (one.start != nullptr) memory_.deallocate(one.start, one.bytes);
        one = {memory_.allocate(bytes), bytes};
        *one.start = static_cast<unsigned char>(bytes);
        return was;
    }

  private:
    struct block {
        unsigned char* start = nullptr;
        std::size_t bytes = 0;
    };
    typename Memory::template allocator<unsigned char> memory_;
    std::vector<block> held_;
};

template <class Memory>
std::uint64_t churn(std::uint64_t repeats, std::uint64_t seed) {
    Memory memory;
    blocks<Memory> held(memory);
    random_numbers draw(seed);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) sum += held.replace(draw.below(4000), 16 + draw.below(1200));
    return sum;
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    return churn<Memory>(repeats, 7);
}

template <class Memory>
std::uint64_t run_twice(std::uint64_t repeats) {
    std::uint64_t other = 0;
    std::thread second([&] { other = churn<Memory>(repeats, 8); });
    const std::uint64_t sum = churn<Memory>(repeats, 7);
    second.join();
    return sum + other;
}

using by_thread = pools<multipool<>, ending::each, 1>;

}  // namespace

const known_program size_churn{"size_churn", "a multipool", run<heap>, run<by_thread>, 5'000'000};
const known_program size_churn_on_two_threads{"size_churn_on_two_threads", "a multipool for each thread",
                                              run_twice<heap>, run_twice<by_thread>, 3'000'000};

}  // namespace millpond::suites
