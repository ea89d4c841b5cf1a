// SPDX-License-Identifier: BSL-1.0
// machine_aarch64: the facts of 64-bit Arm. Include machine.hpp.
//
//   caller's frame … │ … │ saved x30 │ saved x29 │ …      a call leaves its return address in x30; the function saves
//                    ▲ CFA           ▲ frame record       both where it likes (gcc: at its stack pointer)
//
// Return addresses in memory may hold an authentication code in their upper bits (paciasp); strip() removes it.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __clang__
#error "only gcc gives a hook's canonical frame address on aarch64: compile with gcc"
#endif

namespace millpond::preload::machine {

[[gnu::always_inline]] inline void pause() noexcept { __asm__ volatile("isb" : : : "memory"); }
// Returns whether a word that others may change is odd.
[[gnu::always_inline]] inline bool is_odd(const std::uint32_t& word) noexcept {
    return (__atomic_load_n(&word, __ATOMIC_RELAXED) & 1) != 0;
}
// Returns the virtual counter, which all processors share.
[[gnu::always_inline]] inline std::uint64_t ticks() noexcept {
    std::uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
}

// The place of a call: its return address, and the caller's stack pointer and frame pointer after the return.
struct call_place {
    std::uintptr_t return_address, stack, frame;

    // Returns the place of the call to the function into which this is inlined, which must keep a frame pointer.
    [[gnu::always_inline]] static inline call_place here() noexcept {
        const auto* const frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
        return {reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)),
                reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa()), frame[0]};
    }
};

[[gnu::always_inline]] inline std::uintptr_t thread_pointer() noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}

inline constexpr unsigned address_bits = 48, code_step_log2 = 2;
inline constexpr std::size_t page_bytes_max = std::size_t{64} << 10;
inline constexpr bool keeps_registers = false, has_probes = false, returns_at_cfa = false;

inline constexpr std::uint64_t frame_pointer = 29, stack_pointer = 31, return_column = 30;

// The place of the saved x30, from the CFA; 0 if it is still in the register.
struct return_rule {
    std::int16_t offset = 0;
    bool is_too_far = false;

    void save(std::int64_t from_cfa) noexcept {
        offset = static_cast<std::int16_t>(from_cfa);
        is_too_far = offset != from_cfa;
    }
    void restore(const return_rule& initial) noexcept { *this = initial; }
    [[nodiscard]] bool fits() const noexcept { return !is_too_far; }
};
// x30 of a frame that a signal interrupted: its function may not have saved it.
struct link_register {
    std::uintptr_t value = 0;

    [[nodiscard]] bool is_known() const noexcept { return value != 0; }
};

// Returns the place of the return address of a frame with this CFA, which has saved it.
[[gnu::always_inline]] inline std::uintptr_t return_slot(std::uintptr_t cfa, return_rule rule) noexcept {
    return cfa + static_cast<std::uintptr_t>(std::intptr_t{rule.offset});
}
[[gnu::always_inline]] inline bool is_saved(return_rule rule) noexcept { return rule.offset != 0; }
[[gnu::always_inline]] inline std::uintptr_t linked(link_register link) noexcept { return link.value; }
[[gnu::always_inline]] inline std::uintptr_t strip(std::uintptr_t return_address) noexcept {
    register std::uintptr_t stripped __asm__("x30") = return_address;
    __asm__("hint 7" : "+r"(stripped));  // xpaclri: nothing on a processor without authentication
    return stripped;
}

// Memory cannot be changed by one plain instruction, so these are atomic.
[[gnu::always_inline]] inline void set_bits(std::uint64_t& word, std::uint64_t bits) noexcept {
    __atomic_fetch_or(&word, bits, __ATOMIC_RELAXED);
}
[[gnu::always_inline]] inline void add(std::size_t& count, std::ptrdiff_t by) noexcept {
    __atomic_fetch_add(&count, static_cast<std::size_t>(by), __ATOMIC_RELAXED);
}
// Returns the place before.
[[gnu::always_inline]] inline char* advance(char*& place, std::ptrdiff_t by) noexcept {
    return __atomic_fetch_add(&place, by, __ATOMIC_RELAXED);
}

// The registers of a frame that a signal interrupted: in the ucontext behind the siginfo at the stack pointer of the
// handler's return.
struct interrupted_frame {
    std::uintptr_t address, stack, frame;
    link_register link;

    static interrupted_frame at(std::uintptr_t handler_stack) noexcept {
        constexpr std::uintptr_t siginfo_bytes = 128, registers = siginfo_bytes + 184;  // x0 … x30, sp, pc
        const auto word = [=](std::uintptr_t number) {
            return *reinterpret_cast<const std::uintptr_t*>(handler_stack + registers + 8 * number);
        };
        return {word(32), word(31), word(29), {strip(word(30))}};
    }
};

// Returns whether code without call-frame information is the return from a signal handler: the kernel's has none.
inline bool is_signal_return(std::uintptr_t address) noexcept {
    constexpr std::uint32_t move_139_to_x8 = 0xd2801168, supervisor_call = 0xd4000001;  // rt_sigreturn
    const auto* const code = reinterpret_cast<const std::uint32_t*>(address);
    return address % 4 == 0 && code[0] == move_139_to_x8 && code[1] == supervisor_call;
}

// Returns the kernel's result: −errno if negative.
inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

}  // namespace millpond::preload::machine

// MILLPOND_JUMP_BEHIND(name, ours, position) defines the exported function `name`: it calls `ours`, which returns
// {function, flags}, and jumps there with its own arguments, except the one at `position` (1 or 2), which is `flags`.
#define MILLPOND_FLAGS_TO_1 "mov w3, w1\nldp x0, x1, [sp, 16]\nmov w1, w3\n"
#define MILLPOND_FLAGS_TO_2 "mov w2, w1\nldp x0, x1, [sp, 16]\n"
#define MILLPOND_JUMP_BEHIND(name, ours, position)                                    \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n.balign 16\n" #name \
            ":\n"                                                                     \
            ".cfi_startproc\n"                                                        \
            "hint 34\n" /* bti c */                                                   \
            "stp x29, x30, [sp, -32]!\n"                                              \
            ".cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"      \
            "mov x29, sp\n"                                                           \
            "stp x0, x1, [sp, 16]\n"                                                  \
            "bl " #ours                                                               \
            "\n"                                                                      \
            "mov x16, x0\n" MILLPOND_FLAGS_TO_##position                              \
            "ldp x29, x30, [sp], 32\n"                                                \
            ".cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n"               \
            "br x16\n"                                                                \
            ".cfi_endproc\n"                                                          \
            ".size " #name ", .-" #name "\n");
