// SPDX-License-Identifier: BSL-1.0
// caller_words: the callee-saved registers of the caller of malloc and operator new, and the first words of its
// stack. The owner of an allocation may be found in them.
//
//   list::push_back   rbx = this   │ call operator new ─▶ entry keeps rbx, rbp, r12-r15 of this thread ─▶ hook
//
// Only x86-64 has such entries (machine::keeps_registers).
//
// A hook's own code may change registers before it can read them. So the entry is a few instructions of assembly before
// it, which pass the call's site in registers; a hook that only jumps on then needs no frame. The other registers are
// kept only if `keeps_caller_registers` is set; otherwise that costs one branch. A signal handler that allocates
// changes the kept values, so they may be wrong and are only a hint. A library has these entries if it defines
// MILLPOND_KEEPS_REGISTERS before it includes interpose_exports.hpp. One whose backend sleeps at times may also define
// MILLPOND_SLEEPS, and `const std::uint32_t* millpond_turn`, of a word that is odd then: a call of malloc takes five
// instructions more while it sleeps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/call_site.hpp"
#include "preload/machine.hpp"
#include "preload/word_position.hpp"

extern "C" {
// The assembly refers to it by name.
[[gnu::visibility("hidden"), gnu::used]] inline constinit std::uint8_t millpond_keeps_caller_registers = 0;
[[gnu::visibility("hidden"), gnu::used,
  gnu::tls_model("initial-exec")]] inline constinit thread_local std::uintptr_t millpond_caller_registers[6] = {};
// A variable of the dynamic linker: the start of the first thread's stack.
extern void* __libc_stack_end;
}

namespace millpond::preload {

class caller_words {
  public:
    static constexpr unsigned registers = word_position::registers;
    static constexpr unsigned count = word_position::count;

    // Returns the word at a position (word_position.hpp), which must be readable.
    static std::uintptr_t at(unsigned position, const call_site& site) noexcept {
        if (position < registers) return millpond_caller_registers[position];
        return reinterpret_cast<const std::uintptr_t*>(site.stack)[position - registers];
    }
    // Returns the number of positions that can be read. It stops at the end of the page, because nothing may be mapped
    // behind a small stack of the program's own (coroutines). It goes further if this is surely the thread's stack. The
    // kernel maps nothing else within 128 MiB below the first thread's; that of another is at least 16 KiB, with its
    // control block on top.
    static unsigned readable(const call_site& site) noexcept {
        constexpr std::uintptr_t first_bytes = std::uintptr_t{64} << 20, other_bytes = 12 << 10;
        std::uintptr_t end = (site.stack | (machine::page_bytes_least - 1)) + 1;
        const std::uintptr_t control_block = machine::thread_pointer();
        const auto first_end = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
        if (first_end > end && first_end - site.stack < first_bytes) end = first_end;
        if (control_block != first_control_block_ && control_block > end && control_block - site.stack < other_bytes)
            end = control_block;
        const std::size_t words = (end - site.stack) / sizeof(std::uintptr_t);
        return words < count - registers ? registers + static_cast<unsigned>(words) : count;
    }
    // Makes the entries keep registers from now on. Called once, by the first thread. Does nothing
    // where a machine has no such entries.
    static void keep() noexcept {
        if (!machine::keeps_registers) return;
        first_control_block_ = machine::thread_pointer();
        millpond_keeps_caller_registers = 1;
    }
    static bool are_kept() noexcept { return millpond_keeps_caller_registers != 0; }
    // Returns whether a word may be an address of a program.
    static bool is_address(std::uintptr_t word) noexcept {
        return word >= 65536 && std::uint64_t{word} >> machine::address_bits == 0 && word % 8 == 0;
    }

  private:
    static constinit inline std::uintptr_t first_control_block_ = 0;
};

}  // namespace millpond::preload

#if defined(MILLPOND_SLEEPS) && defined(MILLPOND_PASS_ASLEEP)
#define MILLPOND_SLEEP_OF(symbol) MILLPOND_PASS_ASLEEP(symbol)
#else
#define MILLPOND_SLEEP_OF(symbol)
#endif

#if defined(MILLPOND_KEEPS_REGISTERS) && defined(MILLPOND_ENTRY_OF)
#define MILLPOND_HOOK(symbol, declaration)                                             \
    MILLPOND_ENTRY_OF(symbol, MILLPOND_SLEEP_OF(symbol))                               \
    extern "C" [[gnu::visibility("hidden"), gnu::used]] void* millpond_enter_##symbol( \
        std::size_t bytes, std::uintptr_t return_address, std::uintptr_t stack, std::uintptr_t frame)
#define MILLPOND_HOOK_SITE \
    millpond::preload::call_site { return_address, stack, frame }
#else
#define MILLPOND_HOOK(symbol, declaration) declaration
#define MILLPOND_HOOK_SITE millpond::preload::entry_site::here()
#endif
