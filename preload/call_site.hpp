// SPDX-License-Identifier: BSL-1.0
// call_site: the caller of an interposed function: its return address and the registers after the return.
#pragma once

#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::preload {

struct call_site {
    std::uintptr_t return_address;
    std::uintptr_t stack;  // the caller's stack pointer after the return: the canonical frame address of the hook
    std::uintptr_t frame;  // the caller's frame pointer (rbp, x29), whatever the caller uses it for

    // Returns the site of the call to the function into which this is inlined. That function must keep a frame pointer.
    [[gnu::always_inline]] static inline call_site here() noexcept {
        const machine::call_place place = machine::call_place::here();
        return {place.return_address, place.stack, place.frame};
    }
};

// A call_site with only the caller's return address: an entry that keeps no more needs no frame.
struct return_site {
    std::uintptr_t return_address;

    [[gnu::always_inline]] static inline return_site here() noexcept {
        return {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))};
    }
};

}  // namespace millpond::preload
