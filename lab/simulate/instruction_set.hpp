// SPDX-License-Identifier: BSL-1.0
// instruction_set: which vector instructions the simulators use. All give identical counts.
#pragma once

#include <stdint.h>

namespace millpond::simulate {

enum class instruction_set : uint8_t { portable = 1, avx2 = 2, avx512 = 3 };

// The best of this processor and its operating system, and at most `highest`. Asks the processor: keep the answer.
instruction_set best_instruction_set(instruction_set highest = instruction_set::avx512);

}  // namespace millpond::simulate

// For functions that use these instructions; the processor must have them. (A whole file compiled for them would also
// bring its inline functions, and the linker may take those for every caller.)
#if defined(__x86_64__)
#define MILLPOND_AVX2 [[gnu::target("avx2,bmi,bmi2,popcnt,lzcnt")]]
#define MILLPOND_AVX512 [[gnu::target("avx512f,avx2,bmi,bmi2,popcnt,lzcnt")]]
#endif
