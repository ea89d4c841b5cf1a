// SPDX-License-Identifier: BSL-1.0
// owner_outlives_the_request: a request builds much that ends with it, and adds to a session that outlives it. An arena
// for the request would cause a use after free.
// By hand: a multipool for the session's items, which are then swept.
#include <list>
#include <string>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

struct item {
    std::uint64_t number;
    std::uint64_t weight;
};

template <class Memory>
class session {
  public:
    explicit session(Memory& memory) : items_(memory.template of<item>(0)) {}

    [[gnu::noinline]] void add(std::uint64_t number) {
        items_.push_back(item{number, number % 7});
        if (items_.size() > 40'000) items_.pop_front();
    }
    [[gnu::noinline]] std::uint64_t weight() const {
        std::uint64_t sum = 0;
        for (const item& one : items_) sum += one.weight;
        return sum;
    }

  private:
    std::list<item, typename Memory::template allocator<item>> items_;
};

template <class Memory>
[[gnu::noinline]] std::uint64_t handle_request(session<Memory>& lasting, std::uint64_t number, random_numbers& draw) {
    std::vector<std::string> words;
    for (int i = 0; i < 20; ++i) {
        words.emplace_back(16 + draw.below(60), 'w');
        if (i % 2 == 0) lasting.add(number * 10 + static_cast<std::uint64_t>(i));
    }
    return words.back().size();
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    session<Memory> lasting(memory);
    random_numbers draw(11);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        sum = sum * 31 + handle_request(lasting, i, draw);
        if (i % 100 == 0) sum += lasting.weight();
    }
    return sum;
}

}  // namespace

const known_program owner_outlives_the_request{"owner_outlives_the_request", "a multipool for the session's items",
                                               run<heap>, run<pools<multipool<>>>, 100'000};

}  // namespace millpond::suites
