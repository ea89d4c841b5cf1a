// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/remote_call.hpp"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>

#include "lab/program/program.hpp"

namespace millpond::attach {
namespace {

constexpr std::uint64_t nowhere = 16;  // no program maps the first page
constexpr std::uint64_t red_zone_bytes = 128, stack_bytes = std::uint64_t{512} << 10, text_bytes_max = 8 << 10;
constexpr std::uint64_t call_alignment = 16;

std::uint64_t mask_of(int signal) { return std::uint64_t{1} << (signal - 1); }

}  // namespace

remote_call::remote_call(traced_thread& thread, const libc_functions& libc)
    : thread_(thread),
      libc_(libc),
      registers_(thread.registers()),
      extended_(thread.extended_state()),
      mask_(thread.signal_mask()),
      stack_end_(registers_.rsp - red_zone_bytes) {
    thread_.set_signal_mask(~mask_of(SIGSEGV));
    try {
        errno_at_ = call(libc_.errno_location, {});
        read(errno_at_, &errno_, sizeof errno_);
        const std::uint64_t pages =
            call(libc_.mmap, {0, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              ~std::uint64_t{0}, 0});
        if (pages == ~std::uint64_t{0})
            throw program::failure(program::environment, "the program has no memory left for the recorder");
        own_stack_ = pages;
        stack_end_ = pages + stack_bytes;
    } catch (...) {
        restore();
        throw;
    }
}

remote_call::~remote_call() { restore(); }

void remote_call::restore() {
    try {
        if (own_stack_ != 0) {
            stack_end_ = registers_.rsp - red_zone_bytes;
            call(libc_.munmap, {own_stack_, stack_bytes});
        }
        if (errno_at_ != 0) write(errno_at_, &errno_, sizeof errno_);
        thread_.set_extended_state(extended_);
        thread_.set_signal_mask(mask_);
        thread_.set_registers(registers_);
    } catch (const program::failure& ended) {
    }
}

std::uint64_t remote_call::call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments) {
    user_regs_struct now = registers_;
    const std::uint64_t stack = (stack_end_ & ~(call_alignment - 1)) - sizeof nowhere;
    write(stack, &nowhere, sizeof nowhere);
    unsigned long long* const places[] = {&now.rdi, &now.rsi, &now.rdx, &now.rcx, &now.r8, &now.r9};
    std::size_t count = 0;
    for (const std::uint64_t argument : arguments) *places[count++] = argument;
    constexpr unsigned long long direction = 1 << 10, single_step = 1 << 8;
    now.eflags &= ~(direction | single_step);
    now.rip = function;
    now.rsp = stack;
    now.rax = 0;
    now.orig_rax = ~0ull;  // no system call, so the kernel begins none again
    thread_.set_registers(now);
    if (!thread_.run_until_signal(SIGSEGV))
        throw program::failure(program::environment, "the program ended while it was attached to");
    now = thread_.registers();
    if (now.rip != nowhere)
        throw program::failure(program::environment, "a call of the recorder failed in the program; report this");
    return now.rax;
}

std::uint64_t remote_call::place(const std::string& text) {
    if (text.size() >= text_bytes_max) throw program::failure(program::environment, text + ": the name is too long");
    write(own_stack_, text.c_str(), text.size() + 1);
    return own_stack_;
}

std::string remote_call::text_at(std::uint64_t address) const {
    constexpr std::size_t most = 1024;
    std::string text;
    for (char c = 0; text.size() < most && address != 0 && read(address + text.size(), &c, 1) && c != 0;) text += c;
    return text;
}

void remote_call::write(std::uint64_t address, const void* from, std::size_t bytes) const {
    const iovec here{const_cast<void*>(from), bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};
    if (process_vm_writev(thread_.id(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes))
        throw program::failure(program::environment, "the program's memory cannot be written");
}

bool remote_call::read(std::uint64_t address, void* to, std::size_t bytes) const {
    const iovec here{to, bytes};
    const iovec there{reinterpret_cast<void*>(address), bytes};
    return process_vm_readv(thread_.id(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace millpond::attach
