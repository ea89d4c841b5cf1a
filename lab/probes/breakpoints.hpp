// SPDX-License-Identifier: BSL-1.0
// breakpoints: every breakpoint of the process, by its address.
//
//   address ──hash──▶ │ address │ original byte │ roles │ how the instruction under it runs │
//
// A breakpoint is entered in the table before it is written to the code, and is never removed, so a thread that has hit
// it finds it even if its byte was restored meanwhile. find: lock-free, for signal handlers. The other functions take a
// lock. At most 8192 breakpoints.
#pragma once

#include <cstdint>

#include "lab/probes/displaced_instruction.hpp"
#include "lab/probes/wanted_scopes.hpp"

namespace millpond::probes {

struct breakpoint {
    enum roles : std::uint8_t { is_entry = 1, is_return = 2, is_loader = 4 };
    static constexpr std::uint16_t none = 0xfffe, several = 0xffff;

    std::uintptr_t address;  // 0: free; written last
    std::uint8_t original;
    std::uint8_t roles;
    std::uint16_t number;      // of the scope whose entry this is
    std::uint16_t returns_of;  // the scope whose calls return here, or `several`
    displaced_instruction instruction;

    [[nodiscard]] unsigned roles_now() const noexcept { return __atomic_load_n(&roles, __ATOMIC_ACQUIRE); }
};

class breakpoints {
  public:
    // Maps the table; false without memory.
    static bool start() noexcept;
    // For a forked child: another thread of the parent may have held the lock.
    static void adopt() noexcept;

    [[nodiscard]] static breakpoint* find(std::uintptr_t address) noexcept;
    // Writes a breakpoint into the code of a module, or adds a role to the present one; false if that is impossible.
    // `number`: the scope whose entry it is, or whose calls return there.
    static bool place(std::uintptr_t address, const code_range& module, unsigned role, unsigned number) noexcept;
    // Restores the code at a place where only calls of the scope `number` return, which is no longer observed.
    static void remove_return(std::uintptr_t address, unsigned number) noexcept;
    // Returns whether a breakpoint still stands where it was placed: its module may have been replaced by another.
    [[nodiscard]] static bool is_in_place(std::uintptr_t address) noexcept;
    // Restores the code there, unless the breakpoint has other roles.
    static void remove_entry(std::uintptr_t address) noexcept;
    static void remove_all() noexcept;

    // Returns whether a function may return to `address`: a call ends there, or a signal handler returns to it.
    [[nodiscard]] static bool is_return_site(std::uintptr_t address, std::uintptr_t module_first) noexcept;
};

}  // namespace millpond::probes
