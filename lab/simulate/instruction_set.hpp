// SPDX-License-Identifier: BSL-1.0
// instruction_set: the vector instructions that the simulators use. All sets give identical counts.
#pragma once

#include <stdint.h>

namespace millpond::simulate {

enum class instruction_set : uint8_t { portable = 1, avx2 = 2, avx512 = 3 };

// Returns the best set that this processor and its operating system support, at most `highest`. It queries the
// processor: keep the answer.
instruction_set best_instruction_set(instruction_set highest = instruction_set::avx512);

}  // namespace millpond::simulate

// Marks functions that use these instructions; the processor must have them. (If a whole file were compiled for them,
// its inline functions would be, too, and the linker might use those for every caller.)
#if defined(__x86_64__)
#define MILLPOND_AVX2 [[gnu::target("avx2,bmi,bmi2,popcnt,lzcnt")]]
#define MILLPOND_AVX512 [[gnu::target("avx512f,avx2,bmi,bmi2,popcnt,lzcnt")]]
#endif
