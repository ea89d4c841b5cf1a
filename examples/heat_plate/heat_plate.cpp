// SPDX-License-Identifier: BSL-1.0
// heat_plate: simulates how heat spreads on a plate. It allocates a grid for each plate; computing takes nearly all
// time.
//
// No local allocator helps here: heat_plate_changed has a pool for the grids, and takes as long.
// Usage: heat_plate [--repeats N] [--seed N]
#include <cstdint>
#include <vector>

#include "../common/command_line.hpp"
#include "spread.hpp"

namespace heat_plate {

using grid = std::vector<std::uint32_t>;

[[gnu::noinline]] std::uint64_t heat_after(std::uint32_t steps, examples::dice& chance) {
    const std::uint32_t width = 40 + chance.below(24);
    grid plate(std::size_t{width} * width);
    for (std::uint32_t& cell : plate) cell = chance.below(1'000'000);
    for (std::uint32_t step = 0; step < steps; ++step) spread(plate.data(), width);
    return sum_of(plate.data(), plate.size());
}

}  // namespace heat_plate

int main(int argc, char** argv) {
    examples::options chosen{.repeats = 700};
    if (!examples::read_options(argc, argv, chosen)) return 2;
    examples::dice chance(chosen.seed);
    std::uint64_t checksum = 0;
    for (std::uint32_t i = 0; i < chosen.repeats; ++i) {
        checksum = checksum * 1099511628211u + heat_plate::heat_after(200, chance);
    }
    examples::print_checksum(checksum);
    return 0;
}
