// SPDX-License-Identifier: BSL-1.0
// displaced_instruction: runs the instruction under a breakpoint elsewhere, because the breakpoint covers its first
// byte.
//
//   trap ─┬▶ a relative branch, a call, a return: carried out on the saved registers
//         └▶ any other: a copy in a slot near it, its address relative to rip corrected, then a jump to the next
//
// Zydis decodes. An instruction that is neither (loop, jrcxz, xbegin, far calls, segment overrides in a call) is
// refused. run(): no system call, no lock, no allocation; for signal handlers.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace millpond::probes {

class displaced_instruction {
  public:
    static constexpr unsigned slot_bytes = 32;
    static constexpr unsigned code_max = 15;

    // Decodes the instruction at `address`; `slot`: where a copy would lie. False if it is refused.
    bool understand(const std::uint8_t* code, std::uintptr_t address, std::uintptr_t slot) noexcept;
    // Returns whether the copy is needed; copy(): its bytes.
    [[nodiscard]] bool needs_copy() const noexcept { return how_ == copied; }
    [[nodiscard]] const std::uint8_t* copy() const noexcept { return copy_; }

    // Changes the saved registers as if their thread had run the instruction.
    void run(ucontext_t* context) const noexcept;

  private:
    enum kinds : std::uint8_t { copied, jump, jump_if, call, call_indirect, give_back };

    bool take_call(const void* decoded, std::uintptr_t address) noexcept;
    [[nodiscard]] std::uintptr_t operand_address(const gregset_t& r) const noexcept;

    kinds how_ = copied;
    std::uint8_t condition_ = 0;  // of a jump: the low four bits of its code
    std::uint8_t base_ = none, index_ = none, scale_ = 0;
    bool through_memory_ = false;
    std::uint16_t popped_ = 0;  // by a return, beyond the address
    std::int64_t displacement_ = 0;
    std::uintptr_t next_ = 0, target_ = 0, slot_ = 0;
    std::uint8_t copy_[slot_bytes] = {};

    static constexpr std::uint8_t none = 0xff;
};

}  // namespace millpond::probes
