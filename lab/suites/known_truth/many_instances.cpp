// SPDX-License-Identifier: BSL-1.0
// many_instances: 32 lists of one type grow in turns and are walked one by one. Call stacks do not tell them apart.
// By hand: a multipool for each list.
#include <list>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/hidden.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

template <class Memory>
class queue_of_jobs {
  public:
    queue_of_jobs(Memory& memory, std::size_t place) : jobs_(memory.template of<std::uint64_t>(place)) {}

    [[gnu::noinline]] void add(std::uint64_t job) { jobs_.push_back(job); }
    [[gnu::noinline]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t job : jobs_) sum += job;
        return sum;
    }

  private:
    std::list<std::uint64_t, typename Memory::template allocator<std::uint64_t>> jobs_;
};

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    std::vector<queue_of_jobs<Memory>> queues;
    queues.reserve(32);
    for (std::size_t i = 0; i < 32; ++i) queues.emplace_back(memory, i);
    random_numbers draw(4);
    for (std::uint64_t i = 0; i < 320'000; ++i) queues[draw.below(32)].add(i);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        // Works on each queue for a while, as its owner would.
        const auto& queue = queues[i % 32];
        for (int again = 0; again < 20; ++again) {
            sum = sum * 31 + queue.total();
            clobber();
        }
    }
    return sum;
}

}  // namespace

const known_program many_instances{"many_instances", "a multipool for each of the 32 lists", run<heap>,
                                   run<pools<multipool<>, ending::each, 32>>, 96};

}  // namespace millpond::suites
