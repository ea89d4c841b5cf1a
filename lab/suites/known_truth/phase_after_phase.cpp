// SPDX-License-Identifier: BSL-1.0
// phase_after_phase: reads, then indexes, then sorts; the data of a phase are dropped at its end.
// By hand: an arena for each phase, winked out.
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "known_program.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "memory.hpp"

namespace millpond::suites {
namespace {

template <class Memory>
[[gnu::noinline]] std::uint64_t read_phase(Memory& memory, random_numbers& draw) {
    using text = std::basic_string<char, std::char_traits<char>, typename Memory::template allocator<char>>;
    using texts = std::vector<text, typename Memory::template allocator<text>>;
    held_in<texts, Memory> held(memory.template of<text>(0));
    std::uint64_t sum = 0;
    for (int i = 0; i < 30'000; ++i) {
        held.get().push_back(text(20 + draw.below(60), 'r', memory.template of<char>(0)));
        sum += held.get().back().size();
    }
    return sum;
}

template <class Memory>
[[gnu::noinline]] std::uint64_t index_phase(Memory& memory, random_numbers& draw) {
    using index =
        std::unordered_map<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>, std::equal_to<>,
                           typename Memory::template allocator<std::pair<const std::uint64_t, std::uint64_t>>>;
    held_in<index, Memory> held(memory.template of<std::pair<const std::uint64_t, std::uint64_t>>(1));
    for (std::uint64_t i = 0; i < 30'000; ++i) held.get()[draw.below(100'000)] += i;
    return held.get().size();
}

template <class Memory>
[[gnu::noinline]] std::uint64_t sort_phase(Memory& memory, random_numbers& draw) {
    using sorted = std::set<std::uint64_t, std::less<>, typename Memory::template allocator<std::uint64_t>>;
    held_in<sorted, Memory> held(memory.template of<std::uint64_t>(2));
    for (int i = 0; i < 20'000; ++i) held.get().insert(draw.next());
    return *held.get().begin();
}

template <class Memory>
std::uint64_t run(std::uint64_t repeats) {
    Memory memory;
    random_numbers draw(10);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < repeats; ++i) {
        sum = sum * 31 + read_phase(memory, draw);
        memory.end(0);
        sum = sum * 31 + index_phase(memory, draw);
        memory.end(1);
        sum = sum * 31 + sort_phase(memory, draw);
        memory.end(2);
    }
    return sum;
}

}  // namespace

const known_program phase_after_phase{
    "phase_after_phase", "an arena for each phase, winked out", run<heap>, run<arenas_winked_out<3>>, 30,
    run<arenas<3>>};

}  // namespace millpond::suites
