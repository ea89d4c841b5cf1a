// SPDX-License-Identifier: BSL-1.0
// Detects vector instructions: cpuid tells what the processor has, xgetbv what the operating system saves. (libgcc's
// detection needs a static constructor.)
#include "lab/simulate/instruction_set.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace millpond::simulate {

#if defined(__x86_64__)
namespace {

bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

unsigned saved_registers() {
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

instruction_set of_processor() {
    constexpr unsigned osxsave = 1u << 27, popcnt = 1u << 23, lzcnt = 1u << 5;
    constexpr unsigned bmi = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8, avx512f = 1u << 16;
    constexpr unsigned ymm_saved = 0x6, zmm_saved = 0xe6;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has(c, osxsave | popcnt)) return instruction_set::portable;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d) == 0 || !has(c, lzcnt)) return instruction_set::portable;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return instruction_set::portable;
    const unsigned saved = saved_registers();
    if (!has(b, bmi | bmi2 | avx2) || !has(saved, ymm_saved)) return instruction_set::portable;
    return has(b, avx512f) && has(saved, zmm_saved) ? instruction_set::avx512 : instruction_set::avx2;
}

}  // namespace
#else
namespace {
instruction_set of_processor() { return instruction_set::portable; }
}  // namespace
#endif

instruction_set best_instruction_set(instruction_set highest) {
    const instruction_set best = of_processor();
    return best < highest ? best : highest;
}

}  // namespace millpond::simulate
