// SPDX-License-Identifier: BSL-1.0
// machine_x86: the facts of x86-64 (and, for its few libraries, of i386). Include machine.hpp.
//
//   caller's frame … │ return address │ saved rbp │ hook's frame
//                    ▲ stack                      (stack grows downward)
#pragma once

#include <cstddef>
#include <cstdint>

namespace millpond::preload::machine {

[[gnu::always_inline]] inline void pause() noexcept { __builtin_ia32_pause(); }
// Returns whether a word that others may change is odd. One instruction: compilers load an atomic word into a register.
[[gnu::always_inline]] inline bool is_odd(const std::uint32_t& word) noexcept {
    bool odd;
    __asm__ volatile("testb $1, %1" : "=@ccnz"(odd) : "m"(word));
    return odd;
}
// Returns the time-stamp counter.
[[gnu::always_inline]] inline std::uint64_t ticks() noexcept { return __builtin_ia32_rdtsc(); }

// The place of a call: its return address, and the caller's stack pointer and frame pointer after the return.
struct call_place {
    std::uintptr_t return_address, stack, frame;

    // Returns the place of the call to the function into which this is inlined, which must keep a frame pointer.
    [[gnu::always_inline]] static inline call_place here() noexcept {
        auto* const frame = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
        return {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
    }
};

[[gnu::always_inline]] inline std::uintptr_t thread_pointer() noexcept {
    std::uintptr_t block;
#ifdef __x86_64__
    __asm__("movq %%fs:0, %0" : "=r"(block));
#else
    __asm__("movl %%gs:0, %0" : "=r"(block));
#endif
    return block;
}

inline constexpr unsigned address_bits = sizeof(void*) == 8 ? 47 : 32, code_step_log2 = 0;
inline constexpr std::size_t page_bytes_max = 4096;
inline constexpr bool keeps_registers = sizeof(void*) == 8, has_probes = keeps_registers, returns_at_cfa = true;

#ifdef __x86_64__

inline constexpr std::uint64_t frame_pointer = 6, stack_pointer = 7, return_column = 16;  // rbp, rsp

// Every call pushes its return address just below the CFA.
struct return_rule {
    void save(std::int64_t) noexcept {}
    void restore(const return_rule&) noexcept {}
    [[nodiscard]] static constexpr bool fits() noexcept { return true; }
};
struct link_register {
    [[nodiscard]] static constexpr bool is_known() noexcept { return false; }
};

// Returns the place of the return address of a frame with this CFA.
[[gnu::always_inline]] inline std::uintptr_t return_slot(std::uintptr_t cfa, return_rule) noexcept { return cfa - 8; }
[[gnu::always_inline]] inline constexpr bool is_saved(return_rule) noexcept { return true; }
[[gnu::always_inline]] inline std::uintptr_t linked(link_register) noexcept { return 0; }
[[gnu::always_inline]] inline std::uintptr_t strip(std::uintptr_t return_address) noexcept { return return_address; }

// One instruction each, without a lock: only a signal handler of this thread may come between.
[[gnu::always_inline]] inline void set_bits(std::uint64_t& word, std::uint64_t bits) noexcept {
    __asm__("orq %1, %0" : "+m"(word) : "r"(bits));
}
[[gnu::always_inline]] inline void add(std::size_t& count, std::ptrdiff_t by) noexcept {
    __asm__ volatile("addq %1, %0" : "+m"(count) : "er"(by) : "memory");
}
// Returns the place before.
[[gnu::always_inline]] inline char* advance(char*& place, std::ptrdiff_t by) noexcept {
    __asm__ volatile("xaddq %1, %0" : "+m"(place), "+r"(by) : : "memory");
    return reinterpret_cast<char*>(by);
}

// The registers of a frame that a signal interrupted: in the ucontext at the stack pointer of the handler's return.
struct interrupted_frame {
    std::uintptr_t address, stack, frame;
    link_register link;

    static interrupted_frame at(std::uintptr_t handler_stack) noexcept {
        constexpr std::uintptr_t rbp = 120, rsp = 160, rip = 168;  // offsets in ucontext_t
        const auto word = [=](std::uintptr_t offset) {
            return *reinterpret_cast<const std::uintptr_t*>(handler_stack + offset);
        };
        return {word(rip), word(rsp), word(rbp), {}};
    }
};

// Returns whether code without call-frame information is the return from a signal handler. The C library's has some.
inline bool is_signal_return(std::uintptr_t) noexcept { return false; }

// Returns the kernel's result: −errno if negative.
inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

#endif

}  // namespace millpond::preload::machine

#ifdef __x86_64__
// MILLPOND_JUMP_BEHIND(name, ours, position) defines the exported function `name`: it calls `ours`, which returns
// {function, flags}, and jumps there with its own arguments, except the one at `position` (1 or 2), which is `flags`.
#define MILLPOND_FLAGS_TO_1 "movl %edx, %esi\n"
#define MILLPOND_FLAGS_TO_2 ""
#define MILLPOND_JUMP_BEHIND(name, ours, position)                                    \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n.balign 16\n" #name \
            ":\n"                                                                     \
            ".cfi_startproc\n"                                                        \
            "endbr64\n"                                                               \
            "pushq %rdi\n.cfi_adjust_cfa_offset 8\n"                                  \
            "pushq %rsi\n.cfi_adjust_cfa_offset 8\n"                                  \
            "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                               \
            "call " #ours                                                             \
            "\n"                                                                      \
            "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"                              \
            "popq %rsi\n.cfi_adjust_cfa_offset -8\n"                                  \
            "popq %rdi\n.cfi_adjust_cfa_offset -8\n" MILLPOND_FLAGS_TO_##position     \
            "jmp *%rax\n"                                                             \
            ".cfi_endproc\n"                                                          \
            ".size " #name ", .-" #name "\n");

// MILLPOND_ENTRY_OF(SYMBOL, SLEEP) defines the exported function SYMBOL. It keeps registers (caller_words.hpp) and
// continues in the hook `millpond_enter_SYMBOL`. SLEEP is nothing or MILLPOND_PASS_ASLEEP(SYMBOL): while the word at
// `millpond_turn` is odd, it continues in `millpond_pass_SYMBOL` instead.
#define MILLPOND_PASS_ASLEEP(symbol)   \
    "movq millpond_turn(%rip), %rax\n" \
    "testb $1, (%rax)\n"               \
    "jne millpond_pass_" #symbol "\n"
#define MILLPOND_ENTRY_OF(symbol, sleep)                        \
    __asm__(                                                    \
        ".text\n"                                               \
        ".globl " #symbol                                       \
        "\n"                                                    \
        ".type " #symbol                                        \
        ", @function\n"                                         \
        ".balign 16\n" #symbol                                  \
        ":\n"                                                   \
        ".cfi_startproc\n"                                      \
        "endbr64\n" sleep                                       \
        "cmpb $0, millpond_keeps_caller_registers(%rip)\n"      \
        "jne 2f\n"                                              \
        "1: movq (%rsp), %rsi\n"                                \
        "leaq 8(%rsp), %rdx\n"                                  \
        "movq %rbp, %rcx\n"                                     \
        "jmp millpond_enter_" #symbol                           \
        "\n"                                                    \
        "2: "                                                   \
        "movq millpond_caller_registers@gottpoff(%rip), %r11\n" \
        "movq %rbx, %fs:(%r11)\n"                               \
        "movq %rbp, %fs:8(%r11)\n"                              \
        "movq %r12, %fs:16(%r11)\n"                             \
        "movq %r13, %fs:24(%r11)\n"                             \
        "movq %r14, %fs:32(%r11)\n"                             \
        "movq %r15, %fs:40(%r11)\n"                             \
        "jmp 1b"                                                \
        "\n"                                                    \
        ".cfi_endproc\n"                                        \
        ".size " #symbol ", .-" #symbol "\n");
#endif
