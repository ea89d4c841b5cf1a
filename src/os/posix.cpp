// SPDX-License-Identifier: BSL-1.0
// Implements os/pages.hpp and os/faults.hpp for POSIX systems, with special cases for Linux.
#if !defined(_WIN32)

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__linux__)
#include <ucontext.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "millpond/os/faults.hpp"
#include "millpond/os/optional_calls.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::os {
namespace {

// Restores errno: an allocator may be called between a failed call and the check of errno.
class errno_kept {
  public:
    errno_kept() noexcept = default;
    errno_kept(const errno_kept&) = delete;
    errno_kept& operator=(const errno_kept&) = delete;
    ~errno_kept() { errno = before_; }

  private:
    int before_ = errno;
};

constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// The registered functions, the latest last. A slot is filled before it is counted.
constinit std::atomic<fault_function> functions[faults::most_functions] = {};
constinit std::atomic<std::size_t> slots_taken{0};
constinit std::atomic<bool> is_installed{false};
struct sigaction handler_before;

std::size_t functions_known() noexcept {
    const std::size_t taken = slots_taken.load(std::memory_order_acquire);
    return taken < faults::most_functions ? taken : faults::most_functions;
}

// Effects: writes the values of the thread's registers. Returns: their number.
std::size_t read_registers([[maybe_unused]] const void* thread, [[maybe_unused]] std::uintptr_t* registers,
                           [[maybe_unused]] fault& what) noexcept {
#if defined(__linux__) && defined(__x86_64__)
    constexpr int error_code = 19, instruction_pointer = 16, general = 16;  // REG_ERR, REG_RIP; REG_R8 to REG_RCX, RSP
    const auto& from = static_cast<const ucontext_t*>(thread)->uc_mcontext.gregs;
    for (int i = 0; i < general; ++i) registers[i] = static_cast<std::uintptr_t>(from[i]);
    what.is_write = (from[error_code] & 2) != 0;
    what.instruction = reinterpret_cast<const void*>(from[instruction_pointer]);
    return general;
#elif defined(__linux__) && defined(__aarch64__)
    const auto& from = static_cast<const ucontext_t*>(thread)->uc_mcontext;
    for (int i = 0; i < 31; ++i) registers[i] = from.regs[i];
    what.instruction = reinterpret_cast<const void*>(from.pc);
    return 31;
#else
    return 0;
#endif
}

// Effects: does what would have happened without this handler.
void pass_on(int signal, siginfo_t* info, void* thread, bool was_sent) noexcept {
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) return handler_before.sa_sigaction(signal, info, thread);
    if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
        return handler_before.sa_handler(signal);
    if (was_sent && handler_before.sa_handler == SIG_IGN) return;
    // The access is tried again and meets the previous handler; a signal that was sent is sent again.
    sigaction(signal, &handler_before, nullptr);
    if (was_sent) raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* thread) noexcept {
    const errno_kept kept;
    const bool was_sent = info->si_code <= 0;  // by kill or the like
    if (!was_sent) {
        std::uintptr_t registers[32] = {};
        fault what;
        what.address = info->si_addr;
        what.registers = registers;
        what.register_count = read_registers(thread, registers, what);
        for (std::size_t i = functions_known(); i > 0; --i) {
            const fault_function function = functions[i - 1].load(std::memory_order_acquire);
            if (function != nullptr && function(what)) return;
        }
    }
    pass_on(signal, info, thread, was_sent);
}

// Provides a signal stack, so that a thread whose own stack is used up can still report why.
void provide_signal_stack() noexcept {
    alignas(16) static char memory[std::size_t{64} << 10];
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    stack_t ours{};
    ours.ss_sp = memory;
    ours.ss_size = sizeof memory;
    sigaltstack(&ours, nullptr);
}

}  // namespace

std::size_t pages::size() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t pages::granularity() noexcept { return size(); }

// Without MAP_NORESERVE: inaccessible pages are not charged, and a commit that cannot be kept is refused.
void* pages::reserve(std::size_t bytes) noexcept {
    const errno_kept kept;
    void* const range = mmap(nullptr, bytes, PROT_NONE, anonymous, -1, 0);
    return range == MAP_FAILED ? nullptr : range;
}

bool pages::commit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0;
}

void pages::populate([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    // MADV_POPULATE_WRITE, since Linux 5.14; the headers may be older than the kernel, or the kernel than the headers.
    constexpr int populate_write = 23;
    const errno_kept kept;
    madvise(at, bytes, populate_write);
#endif
}

// Puts a new mapping in place of the old one; mprotect would keep the charge.
bool pages::decommit(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mmap(at, bytes, PROT_NONE, anonymous | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void pages::discard(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    // Locked pages cannot be given back, but must read as zero all the same.
    if (madvise(at, bytes, MADV_DONTNEED) != 0) std::memset(at, 0, bytes);
#else
    // On systems other than Linux, MADV_DONTNEED may keep the contents.
    mmap(at, bytes, PROT_READ | PROT_WRITE, anonymous | MAP_FIXED, -1, 0);
#endif
}

void pages::let_go([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
    const errno_kept kept;
#if defined(__linux__)
    madvise(at, bytes, MADV_DONTNEED);
#elif defined(MADV_FREE)
    madvise(at, bytes, MADV_FREE);
#endif
}

bool pages::protect(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    return mprotect(at, bytes, PROT_NONE) == 0;
}

bool pages::advise_huge([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes,
                        [[maybe_unused]] bool wanted) noexcept {
#if defined(MADV_HUGEPAGE)
    const errno_kept kept;
    return madvise(at, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
#else
    return false;
#endif
}

void pages::release(void* at, std::size_t bytes) noexcept {
    const errno_kept kept;
    munmap(at, bytes);
}

bool faults::watch(fault_function function) noexcept {
    const errno_kept kept;
    const std::size_t slot = slots_taken.fetch_add(1, std::memory_order_relaxed);
    if (slot >= most_functions) return false;
    functions[slot].store(function, std::memory_order_release);
    if (is_installed.exchange(true)) return true;
    provide_signal_stack();
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    return sigaction(SIGSEGV, nullptr, &handler_before) == 0 && sigaction(SIGSEGV, &ours, nullptr) == 0;
}

#if defined(__ELF__)
const optional_calls all_optional_calls{&pages::size,    &pages::reserve, &pages::commit, &pages::decommit,
                                        &pages::protect, &pages::release, &faults::watch};
#endif

}  // namespace millpond::os

#endif
