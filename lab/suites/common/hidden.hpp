// SPDX-License-Identifier: BSL-1.0
// hidden: hides from the optimiser what a benchmark must not let it know.
//
//   hidden(value)    the same value, unknown to the compiler (no dynamic type, no constant)
//   escape(pointer)  the memory behind the pointer may have been read and written
//   clobber()        all memory may have been. Between a free and an allocation it keeps the pair from being
//                    folded into nothing: a compiler that inlines both knows that the block freed last comes back
// They cost no instruction of their own.
#pragma once

namespace millpond::suites {

template <class T>
[[nodiscard, gnu::always_inline]] inline T hidden(T value) noexcept {
    asm("" : "+r"(value));
    return value;
}

[[gnu::always_inline]] inline void escape(void* pointer) noexcept { asm volatile("" : : "r"(pointer) : "memory"); }

[[gnu::always_inline]] inline void clobber() noexcept { asm volatile("" : : : "memory"); }

}  // namespace millpond::suites
