// SPDX-License-Identifier: BSL-1.0
// frame_rule: the rule for the step from one frame to its caller, condensed from call-frame information (DWARF,
// .eh_frame) to a few bytes.
//
//   at a return address:   CFA = sp + offset │ bp + offset │ *(bp + offset) │ *(sp + offset)
//                          caller's bp = *(CFA + bp_offset) if it was saved
//                          caller's return address = *(CFA − 8) on x86-64, *(CFA + returns.offset) on aarch64
//
// `bp` is the frame pointer: rbp, x29. machine.hpp gives the registers.
//
// compute() costs a few hundred ns to microseconds (a binary search in .eh_frame_hdr and a run of the CFA program), so
// walkers cache it. It allocates nothing, takes no lock (_dl_find_object) and may run in a signal handler.
#pragma once

#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::preload {

struct frame_rule {
    enum kinds : std::uint8_t {
        from_sp,
        from_bp,
        through_bp,  // functions that realign the stack keep the CFA's address in their frame
        through_sp,
        signal,     // the frame of a signal handler's return: the registers lie in a ucontext at sp
        outermost,  // call-frame information says that there is no caller
        no_module,  // code that belongs to no file (generated at run time)
        unknown     // no call-frame information, or a form that compilers do not emit
    };
    enum bp_rules : std::uint8_t { kept, at_cfa, at_bp };

    std::int32_t cfa_offset;
    std::int16_t bp_offset;
    std::uint8_t kind;
    std::uint8_t bp_rule;
    [[no_unique_address]] machine::return_rule returns = {};

    [[nodiscard]] bool steps() const noexcept { return kind <= through_sp; }

    // Returns the rule for a frame that will resume at `return_address`. `exact`: an interrupted frame, whose address
    // is that of the next instruction and not the one behind a call.
    static frame_rule compute(std::uintptr_t return_address, bool exact = false) noexcept;
    // Returns the end of the function that begins at `address`; 0 if call-frame information does not give it.
    static std::uintptr_t end_of_function(std::uintptr_t address) noexcept;
};
static_assert(sizeof(frame_rule) <= 12);  // with its number, two words of the rule_cache

}  // namespace millpond::preload
