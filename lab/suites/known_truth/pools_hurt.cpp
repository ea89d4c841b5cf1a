// SPDX-License-Identifier: BSL-1.0
// pools_hurt: each phase fills 4 MiB with small blocks of one size, a different size in each. The memory that a phase
// frees serves the next one, unless a pool keeps it for its own size.
// By hand: a multipool, which makes the program larger. The right advice is to leave this program as it is.
#include <cstring>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

template <class Memory>
class samples {
  public:
    explicit samples(Memory& memory) : memory_(memory.template of<unsigned char>(0)) {}

    [[gnu::noinline]] unsigned char* take(std::size_t bytes) {
        unsigned char* const sample = memory_.allocate(bytes);
        std::memset(sample, 1, bytes);
        return sample;
    }
    [[gnu::noinline]] std::uint64_t drop(unsigned char* sample, std::size_t bytes) {
        const std::uint64_t last = sample[bytes - 1];
        memory_.deallocate(sample, bytes);
        return last;
    }

  private:
    typename Memory::template allocator<unsigned char> memory_;
};

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    samples<Memory> taken(memory);
    std::uint64_t sum = 0;
    std::vector<unsigned char*> held;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        const std::size_t bytes = 40 + i % 24 * 112;
        for (std::size_t used = 0; used < std::size_t{4} << 20; used += bytes) held.push_back(taken.take(bytes));
        for (unsigned char* const sample : held) sum += taken.drop(sample, bytes);
        held.clear();
    }
    return sum;
}

}  // namespace

const known_program pools_hurt{"pools_hurt", "a multipool, which keeps what each phase has freed", run<heap>,
                               run<pools<multipool<>>>, 480};

}  // namespace millpond::suites
