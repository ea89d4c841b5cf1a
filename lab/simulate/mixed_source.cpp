// SPDX-License-Identifier: BSL-1.0
// Generates the addresses of the mixed source.
#include "lab/simulate/mixed_source.hpp"

namespace millpond::simulate {

std::uint64_t mixed_source::draw(std::uint64_t below) {
    drawn_ ^= drawn_ << 13;
    drawn_ ^= drawn_ >> 7;
    drawn_ ^= drawn_ << 17;
    return (drawn_ >> 11) % below;
}

// Half of all references are near the top of the stack. A quarter sweeps 1 MiB. A quarter visits a heap of 16 MiB,
// where half as many objects are visited each time the distance doubles.
std::uint64_t mixed_source::next_address() {
    constexpr std::uint64_t stack = 0x7ffffff00000, array = 0x7fff00000000, heap = 0x555555000000;
    switch (draw(4)) {
        case 0:
            return array + 8 * (swept_++ % (1u << 17));
        case 1: {
            std::uint64_t object = 64;
            while (object < 1u << 18 && draw(2) == 0) object *= 2;
            return heap + draw(object) * 64 + 8 * draw(8);
        }
        default:
            return stack + 8 * draw(64);
    }
}

bool mixed_source::next(reference_batch& batch) {
    for (millpond_reference& r : batch_)
        r = {next_address(), 0, 8, static_cast<std::uint8_t>(draw(3) == 0 ? millpond_store : millpond_load),
             millpond_of_program};
    batch = {batch_.data(), batch_.size(), 3 * batch_.size(), false};
    return true;
}

}  // namespace millpond::simulate
