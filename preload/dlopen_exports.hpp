// SPDX-License-Identifier: BSL-1.0
// dlopen_exports: the dlopen and dlmopen of a preloaded malloc. They adjust the flags (deep_binding) and continue in
// the functions behind them.
//
// Both end in a jump, so the C library still finds the caller's return address on the stack: the caller's module
// decides where it searches (RUNPATH, $ORIGIN) and in which namespace. For x86-64; included by interpose_exports.hpp.
#pragma once

#ifdef __x86_64__

#include <dlfcn.h>

#include "preload/deep_binding.hpp"

extern "C" {

struct millpond_next_call {
    void* function;
    long flags;
};

[[gnu::used]] inline millpond_next_call millpond_before_dlopen(const char*, int flags) noexcept {
    static constinit void* next = nullptr;
    if (__atomic_load_n(&next, __ATOMIC_RELAXED) == nullptr)
        __atomic_store_n(&next, dlsym(RTLD_NEXT, "dlopen"), __ATOMIC_RELAXED);
    return {next, millpond::preload::deep_binding::before_open(flags)};
}

[[gnu::used]] inline millpond_next_call millpond_before_dlmopen(Lmid_t space, const char*, int flags) noexcept {
    static constinit void* next = nullptr;
    if (__atomic_load_n(&next, __ATOMIC_RELAXED) == nullptr)
        __atomic_store_n(&next, dlsym(RTLD_NEXT, "dlmopen"), __ATOMIC_RELAXED);
    return {next, space == LM_ID_BASE ? millpond::preload::deep_binding::before_open(flags) : flags};
}

// The arguments are kept over the call; rdx holds the flags to continue with.
[[gnu::naked, gnu::visibility("default")]] void* dlopen(const char*, int) noexcept {
    __asm__(
        "endbr64\n\t"
        "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call millpond_before_dlopen\n\t"
        "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "movl %edx, %esi\n\t"
        "jmp *%rax");
}

[[gnu::naked, gnu::visibility("default")]] void* dlmopen(Lmid_t, const char*, int) noexcept {
    __asm__(
        "endbr64\n\t"
        "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"
        "subq $8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\t"
        "call millpond_before_dlmopen\n\t"
        "addq $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"
        "jmp *%rax");
}

}  // extern "C"

#endif
