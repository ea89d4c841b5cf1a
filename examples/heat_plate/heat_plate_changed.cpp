// SPDX-License-Identifier: BSL-1.0
// heat_plate_changed: heat_plate with a pool for the grids, which makes no measurable difference.
//
// Usage: heat_plate_changed [--repeats N] [--seed N]
#include <cstdint>
#include <millpond/millpond.hpp>
#include <vector>

#include "../common/command_line.hpp"
#include "spread.hpp"

namespace heat_plate {

using pool = millpond::in_mode<millpond::multipool<>>;
using grid = std::vector<std::uint32_t, millpond::allocator<std::uint32_t, pool>>;

[[gnu::noinline]] std::uint64_t heat_after(std::uint32_t steps, examples::dice& chance, pool& memory) {
    const std::uint32_t width = 40 + chance.below(24);
    grid plate(std::size_t{width} * width, &memory);
    for (std::uint32_t& cell : plate) cell = chance.below(1'000'000);
    for (std::uint32_t step = 0; step < steps; ++step) spread(plate.data(), width);
    return sum_of(plate.data(), plate.size());
}

}  // namespace heat_plate

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 700};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    examples::dice chance(chosen.seed);
    heat_plate::pool memory;
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < chosen.repeats; ++i) {
        checksum = checksum * 1099511628211u + heat_plate::heat_after(200, chance, memory);
    }
    examples::print_checksum(checksum);
    return 0;
}
