// SPDX-License-Identifier: BSL-1.0
// machine: the facts of the processor's architecture that preloaded libraries and the recorder rely on. No other header
// of preload/ assumes a register or the place of a return address.
//
//   machine_x86.hpp       x86-64; i386 has what its few libraries need
//   machine_aarch64.hpp   64-bit Arm, little-endian
//
// Each gives, in namespace millpond::preload::machine:
//   pause, ticks, thread_pointer             instructions
//   call_place::here                         the caller of a hook
//   address_bits, code_step_log2             addresses of a user's program, and of its instructions
//   page_bytes_least, page_bytes_max         the pages of its kernels; this kernel's: os::pages::size()
//   keeps_registers                          whether caller_words.hpp has entries that keep the caller's registers
//   has_probes                               whether lab/probes can observe calls of functions
//   returns_at_cfa                           whether every return address lies just below its frame's CFA
//   frame_pointer, stack_pointer, …          DWARF's numbers of registers
//   return_rule, return_slot, link_register  where a frame keeps its return address
//   strip                                    a return address without its authentication code
//   set_bits, add, advance                   changes of memory that a signal handler of the thread sees whole or not
//   interrupted_frame, is_signal_return      the frame that a signal handler returns to
//   system_call                              one system call, without a wrapper
//   MILLPOND_JUMP_BEHIND                     an exported function that calls ours, then jumps to the next one
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include "preload/machine_x86.hpp"
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include "preload/machine_aarch64.hpp"
#else
#error "Millpond's laboratory knows x86-64, i386 and little-endian aarch64"
#endif

namespace millpond::preload::machine {

inline constexpr std::size_t page_bytes_least = 4096;

}  // namespace millpond::preload::machine
