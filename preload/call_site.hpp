// SPDX-License-Identifier: BSL-1.0
// call_site: the caller of an interposed function: its return address and the registers after the return.
//
//   caller's frame … │ return address │ saved rbp │ hook's frame
//                    ▲ stack                      (stack grows downward; x86-64)
#pragma once

#include <cstdint>

namespace millpond::preload {

struct call_site {
    std::uintptr_t return_address;
    std::uintptr_t stack;  // the caller's stack pointer after the return: the canonical frame address of the hook
    std::uintptr_t frame;  // the caller's rbp, whatever the caller uses it for

    // Returns the site of the call to the function into which this is inlined. That function must keep a frame pointer.
    [[gnu::always_inline]] static inline call_site here() noexcept {
        auto* const frame = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
        return {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
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
