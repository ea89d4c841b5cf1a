// SPDX-License-Identifier: BSL-1.0
// nothing_helps: computes for a long time on little memory that is allocated now and then.
// By hand: a multipool for that memory, which changes nothing.
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

// Both forms of the program share this function: compiled twice, it was 3 % slower in one of them.
[[gnu::noinline]] std::uint64_t stir(std::uint64_t* values, std::size_t count) {
    std::uint64_t sum = 0;
    for (int round = 0; round < 200; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = (values[i] ^ values[i] >> 29) * 0xbf58476d1ce4e5b9u + sum;
            sum += values[i];
        }
    }
    return sum;
}

template <class Memory>
[[gnu::noinline]] std::uint64_t mix(Memory& memory, random_numbers& draw) {
    std::vector<std::uint64_t, typename Memory::template allocator<std::uint64_t>> values(
        64 + draw.below(64), 1, memory.template of<std::uint64_t>(0));
    return stir(values.data(), values.size());
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    random_numbers draw(6);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) sum += mix(memory, draw);
    return sum;
}

}  // namespace

const known_program nothing_helps{"nothing_helps", "a multipool for the few blocks that there are", run<heap>,
                                  run<pools<multipool<>>>, 20000};

}  // namespace millpond::suites
