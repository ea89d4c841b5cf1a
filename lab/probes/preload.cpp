// SPDX-License-Identifier: BSL-1.0
// libmillpond-probes.so: the functions that the recorder calls, and the C library's functions that the probes
// intercept.
//
// SIGTRAP stays unblocked, because a breakpoint with SIGTRAP blocked would end the process, and its action stays ours;
// the program sees the settings that it asked for. longjmp and the unwinder tell which frame continues. All other calls
// go through unchanged.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include <cstdint>

#include "lab/probes/probe_link.hpp"
#include "lab/probes/probes.hpp"
#include "lab/probes/trap_action.hpp"

using millpond::probes::probes;
using millpond::probes::trap_action;

namespace {

template <class Function>
Function* next(Function*& known, const char* name) noexcept {
    if (known == nullptr) known = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    return known;
}

// A set of signals without SIGTRAP; null stays null.
class without_trap {
  public:
    explicit without_trap(const sigset_t* set) noexcept : set_(set) {
        if (set == nullptr || !probes::is_active() || sigismember(set, SIGTRAP) != 1) return;
        own_ = *set;
        sigdelset(&own_, SIGTRAP);
        set_ = &own_;
    }
    const sigset_t* get() const noexcept { return set_; }

  private:
    sigset_t own_{};
    const sigset_t* set_;
};

int change_mask(int (*real)(int, const sigset_t*, sigset_t*), int how, const sigset_t* set, sigset_t* before) noexcept {
    if (!probes::is_active()) return real(how, set, before);
    bool& believes_blocked = probes::believes_blocked();
    const bool blocked = believes_blocked, named = set != nullptr && sigismember(set, SIGTRAP) == 1;
    const int result = real(how, how == SIG_UNBLOCK ? set : without_trap(set).get(), before);
    if (result != 0) return result;
    if (before != nullptr && blocked) sigaddset(before, SIGTRAP);
    if (set != nullptr && (named || how == SIG_SETMASK)) believes_blocked = named && how != SIG_UNBLOCK;
    return result;
}

// Returns the stack pointer that a jump buffer leads to; the C library encrypts it with a secret of the thread.
std::uintptr_t stack_of(const __jmp_buf_tag* buffer) noexcept {
    constexpr int stack_pointer = 6;
    auto hidden = static_cast<std::uintptr_t>(buffer->__jmpbuf[stack_pointer]);
    __asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(hidden) : : "cc");
    return hidden;
}

using jump_function = void(__jmp_buf_tag*, int);

[[noreturn]] void jump(jump_function* real, __jmp_buf_tag* to, int value) {
    if (probes::is_active()) probes::frame_continues(stack_of(to));
    real(to, value);
    __builtin_unreachable();
}

// Finds the unwinder's function that `caller` means, which may be in a scope invisible to us.
void* of_unwinder(const char* name, void* caller) noexcept {
    if (void* const found = dlsym(RTLD_NEXT, name)) return found;
    dl_find_object module{};
    if (_dl_find_object(caller, &module) != 0) return nullptr;
    void* const handle = dlopen(module.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    return handle == nullptr ? nullptr : dlsym(handle, name);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

millpond::probes::event_watcher millpond_probes_start(const millpond::probes::recorder_calls* calls) noexcept {
    return probes::start(calls);
}
void millpond_probes_stop() noexcept { probes::stop(); }
void millpond_probes_frame_continues(std::uintptr_t stack) noexcept { probes::frame_continues(stack); }

int sigaction(int number, const struct sigaction* fresh, struct sigaction* before) noexcept {
    static int (*known)(int, const struct sigaction*, struct sigaction*) = nullptr;
    next(known, "sigaction");
    if (!probes::is_active()) return known(number, fresh, before);
    if (number == SIGTRAP) {
        trap_action::exchange(fresh, before);
        return 0;
    }
    if (fresh == nullptr) return known(number, fresh, before);
    struct sigaction own = *fresh;
    sigdelset(&own.sa_mask, SIGTRAP);
    return known(number, &own, before);
}

sighandler_t signal(int number, sighandler_t handler) noexcept {
    static sighandler_t (*known)(int, sighandler_t) = nullptr;
    if (number != SIGTRAP || !probes::is_active()) return next(known, "signal")(number, handler);
    struct sigaction fresh{}, before{};
    fresh.sa_handler = handler;
    fresh.sa_flags = SA_RESTART;
    trap_action::exchange(&fresh, &before);
    return before.sa_handler;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    static int (*known)(int, const sigset_t*, sigset_t*) = nullptr;
    return change_mask(next(known, "sigprocmask"), how, set, before);
}

int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    static int (*known)(int, const sigset_t*, sigset_t*) = nullptr;
    return change_mask(next(known, "pthread_sigmask"), how, set, before);
}

// A new thread inherits the mask that its creator believes to have.
int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* set) {
    static int (*known)(pthread_attr_t*, const sigset_t*) = nullptr;
    return next(known, "pthread_attr_setsigmask_np")(attributes, without_trap(set).get());
}

int sigsuspend(const sigset_t* set) {
    static int (*known)(const sigset_t*) = nullptr;
    return next(known, "sigsuspend")(without_trap(set).get());
}

int ppoll(struct pollfd* files, nfds_t count, const struct timespec* timeout, const sigset_t* set) {
    static int (*known)(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*) = nullptr;
    return next(known, "ppoll")(files, count, timeout, without_trap(set).get());
}

int pselect(int count, fd_set* in, fd_set* out, fd_set* other, const struct timespec* timeout, const sigset_t* set) {
    static int (*known)(int, fd_set*, fd_set*, fd_set*, const struct timespec*, const sigset_t*) = nullptr;
    return next(known, "pselect")(count, in, out, other, timeout, without_trap(set).get());
}

int epoll_pwait(int file, struct epoll_event* events, int count, int timeout, const sigset_t* set) {
    static int (*known)(int, struct epoll_event*, int, int, const sigset_t*) = nullptr;
    return next(known, "epoll_pwait")(file, events, count, timeout, without_trap(set).get());
}

[[gnu::noreturn]] void longjmp(__jmp_buf_tag* to, int value) noexcept {
    static jump_function* known = nullptr;
    jump(next(known, "longjmp"), to, value);
}
[[gnu::noreturn]] void _longjmp(__jmp_buf_tag* to, int value) noexcept {
    static jump_function* known = nullptr;
    jump(next(known, "_longjmp"), to, value);
}
[[gnu::noreturn]] void siglongjmp(__jmp_buf_tag* to, int value) noexcept {
    static jump_function* known = nullptr;
    jump(next(known, "siglongjmp"), to, value);
}
[[noreturn]] void __longjmp_chk(__jmp_buf_tag* to, int value) noexcept {
    static jump_function* known = nullptr;
    jump(next(known, "__longjmp_chk"), to, value);
}

// The personality routine of a frame that will handle or clean up calls it. The unwinder calls that frame's own stack
// pointer the CFA of the context.
void _Unwind_SetIP(void* context, std::uintptr_t address) {
    static void (*known)(void*, std::uintptr_t) = nullptr;
    static std::uintptr_t (*stack)(void*) = nullptr;
    void* const caller = __builtin_return_address(0);
    if (known == nullptr) {
        stack = reinterpret_cast<std::uintptr_t (*)(void*)>(of_unwinder("_Unwind_GetCFA", caller));
        known = reinterpret_cast<void (*)(void*, std::uintptr_t)>(of_unwinder("_Unwind_SetIP", caller));
    }
    if (probes::is_active() && stack != nullptr) probes::frame_continues(stack(context));
    known(context, address);
}

}  // extern "C"
#pragma GCC visibility pop
