// SPDX-License-Identifier: BSL-1.0
#include "lab/record/probes/probes.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include <new>

#include "lab/record/probes/code_patch.hpp"
#include "lab/record/probes/displaced.hpp"
#include "lab/record/probes/running_scopes.hpp"
#include "lab/record/probes/wanted_scopes.hpp"
#include "lab/record/system.hpp"
#include "lab/trace/format.h"
#include "preload/fork_mark.hpp"
#include "preload/frame_walk.hpp"
#include "preload/pages.hpp"
#include "preload/rule_cache.hpp"
#include "preload/spin_lock.hpp"

namespace millpond::record {

struct probes::scope {
    std::uintptr_t entry;  // 0: its module is not loaded
    std::uint64_t entries;
    std::uint32_t node;
    std::uint32_t state;
};

namespace {

struct probe {
    std::uintptr_t address;  // 0: free; written last
    std::uint8_t original;
    std::uint8_t roles;
    std::uint16_t number;  // of the scope whose entry this is
    displaced instruction;
};

enum roles : std::uint8_t { is_entry = 1, is_return = 2, is_loader = 4 };

constexpr std::size_t probes_max = std::size_t{1} << 14;
constexpr std::uint8_t breakpoint = 0xcc;
constexpr unsigned walk_max = 256;  // frames

constinit preload::rule_cache rules;

constinit wanted_scopes wanted;
const recorder_calls* recorder = nullptr;
bool active = false;
constinit preload::spin_lock placing;
probe* table = nullptr;  // by address; probes_max places
std::size_t probe_count = 0;
const r_debug* loader = nullptr;
struct sigaction theirs = {};
pthread_key_t thread_end;
bool has_thread_end = false;

// Of one thread; all zero at its start.
struct thread_state {
    running_scopes running;
    bool believes_blocked;
};
static_assert(sizeof(thread_state) <= recorder_calls::room_bytes);

thread_state& this_thread() noexcept { return *static_cast<thread_state*>(recorder->room()); }

bool same_build(const dl_phdr_info& module, const wanted_scope& s) noexcept {
    static constexpr char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type != PT_NOTE) continue;
        const auto* at = reinterpret_cast<const std::uint8_t*>(module.dlpi_addr + part.p_vaddr);
        const auto* const end = at + part.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            memcpy(&note, at, sizeof note);
            const std::uint8_t* const id = at + sizeof note + ((note.n_namesz + 3u) & ~3u);
            at = id + ((note.n_descsz + 3u) & ~3u);
            if (at > end || note.n_type != NT_GNU_BUILD_ID || s.module_length != 2 * note.n_descsz) continue;
            bool same = true;
            for (unsigned b = 0; b < note.n_descsz; ++b)
                same = same && hex[id[b] >> 4] == s.module[2 * b] && hex[id[b] & 15] == s.module[2 * b + 1];
            if (same) return true;
        }
    }
    return false;
}

bool is_wanted(const dl_phdr_info& module, const wanted_scope& s) noexcept {
    if (s.module_length > 0 && memchr(s.module, '/', s.module_length) == nullptr) return same_build(module, s);
    return module.dlpi_name != nullptr && strlen(module.dlpi_name) == s.module_length &&
           memcmp(module.dlpi_name, s.module, s.module_length) == 0;
}

code_range range_of(const dl_phdr_info& module) noexcept {
    code_range all{~std::uintptr_t{0}, 0};
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const std::uintptr_t first = module.dlpi_addr + part.p_vaddr, last = first + part.p_memsz;
        if (first < all.first) all.first = first;
        if (last > all.last) all.last = last;
    }
    return all;
}

bool is_code(const dl_phdr_info& module, std::uintptr_t offset) noexcept {
    for (unsigned i = 0; i < module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset >= part.p_vaddr &&
            offset < part.p_vaddr + part.p_filesz)
            return true;
    }
    return false;
}

bool is_in_place(std::uintptr_t address) noexcept {
    return *reinterpret_cast<const volatile std::uint8_t*>(address) == breakpoint;
}

bool has_shadow_stack() noexcept {
    constexpr long shstk_status = 0x5005;
    std::uint64_t features = 0;
    return system_call(SYS_arch_prctl, shstk_status, &features) == 0 && (features & 1) != 0;
}

void unblock_trap() noexcept {
    const std::uint64_t trap = std::uint64_t{1} << (SIGTRAP - 1);
    system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &trap, nullptr, sizeof trap);
}

// The kernel's own form of an action: the C library's functions are ours.
struct kernel_action {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
};

[[gnu::naked]] void end_of_handler() { __asm__("mov $15, %eax\n\tsyscall"); }  // rt_sigreturn

bool set_action(void (*handler)(int, siginfo_t*, void*), kernel_action* before) noexcept {
    constexpr unsigned long restorer = 0x04000000;
    const kernel_action fresh{handler, SA_SIGINFO | SA_ONSTACK | SA_RESTART | restorer, &end_of_handler,
                              ~std::uint64_t{0}};
    return system_call(SYS_rt_sigaction, SIGTRAP, &fresh, before, sizeof fresh.mask) == 0;
}

probe* find(std::uintptr_t address) noexcept {
    if (table == nullptr) return nullptr;
    for (std::size_t i = address * 0x9E3779B97F4A7C15u >> 50;; ++i) {
        probe& p = table[i & (probes_max - 1)];
        const std::uintptr_t seen = __atomic_load_n(&p.address, __ATOMIC_ACQUIRE);
        if (seen == address) return &p;
        if (seen == 0) return nullptr;
    }
}

// The byte of the program's code, whether or not a breakpoint of ours covers it.
std::uint8_t code_at(std::uintptr_t address) noexcept {
    const std::uint8_t now = *reinterpret_cast<const volatile std::uint8_t*>(address);
    const probe* const covers = now == breakpoint ? find(address) : nullptr;
    return covers != nullptr ? covers->original : now;
}

// Whether a function may return to `address`: a call ends there, or it is where a signal handler returns to.
bool is_return_site(std::uintptr_t address, std::uintptr_t first) noexcept {
    if (address >= first + 5 && code_at(address - 5) == 0xe8) return true;
    for (unsigned bytes = 2; bytes <= 7 && address >= first + bytes; ++bytes)
        if (code_at(address - bytes) == 0xff && (code_at(address - bytes + 1) >> 3 & 7) == 2) return true;
    static constexpr std::uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // rt_sigreturn
    for (unsigned i = 0; i < sizeof restorer; ++i)
        if (code_at(address + i) != restorer[i]) return false;
    return true;
}

}  // namespace

constinit probes::scope* probes::scopes = nullptr;

bool probes::is_active() noexcept { return active; }
bool& probes::believes_blocked() noexcept { return this_thread().believes_blocked; }

// Writes a breakpoint, or adds a role to the one that is there.
bool probes::place(std::uintptr_t address, const code_range& module, unsigned role, unsigned number) noexcept {
    const preload::spin_guard guard(placing);
    if (probe* const known = find(address)) {
        if ((role & is_entry) != 0) known->number = static_cast<std::uint16_t>(number);
        __atomic_or_fetch(&known->roles, static_cast<std::uint8_t>(role), __ATOMIC_RELEASE);
        return is_in_place(address) || write_code(address, &breakpoint, 1);
    }
    if (2 * probe_count >= probes_max || address < module.first || address >= module.last) return false;
    std::uint8_t code[displaced::code_max] = {};
    const std::size_t left = module.last - address;
    memcpy(code, reinterpret_cast<const void*>(address), left < sizeof code ? left : sizeof code);
    if (code[0] == breakpoint) return false;  // a debugger's
    const std::uintptr_t slot = take_room(address, module.first, module.last, displaced::slot_bytes);
    displaced instruction;
    if (slot == 0 || !instruction.understand(code, address, slot)) return false;
    if (instruction.needs_copy() && !write_code(slot, instruction.copy(), displaced::slot_bytes)) return false;
    std::size_t i = address * 0x9E3779B97F4A7C15u >> 50;
    while (table[i & (probes_max - 1)].address != 0) ++i;
    probe& p = table[i & (probes_max - 1)];
    p.original = code[0];
    p.roles = static_cast<std::uint8_t>(role);
    p.number = static_cast<std::uint16_t>(number);
    p.instruction = instruction;
    __atomic_store_n(&p.address, address, __ATOMIC_RELEASE);
    ++probe_count;
    return write_code(address, &breakpoint, 1);
}

// 0, or why the return of an activation could not be seen.
unsigned probes::place_return(std::uintptr_t address) noexcept {
    const probe* const known = find(address);
    if (known != nullptr && (__atomic_load_n(&known->roles, __ATOMIC_ACQUIRE) & is_return) != 0)
        return is_in_place(address) ? mpt_scope_observed : mpt_scope_unloaded;
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void*>(address - 1), &found) != 0) return mpt_scope_generated;
    const code_range module{reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
                            reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)};
    if (!is_return_site(address, module.first)) return mpt_scope_no_return;
    return place(address, module, is_return, 0) ? mpt_scope_observed : mpt_scope_no_return;
}

void probes::give_up(unsigned number, unsigned why) noexcept {
    scope& s = scopes[number];
    std::uint32_t expected = mpt_scope_observed;
    if (!__atomic_compare_exchange_n(&s.state, &expected, why, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
    const preload::spin_guard guard(placing);
    if (probe* const p = find(s.entry); why != mpt_scope_unloaded && p != nullptr && (p->roles & ~is_entry) == 0)
        write_code(s.entry, &p->original, 1);
    if (s.node != 0) recorder->note(mpt_note_scope, std::uint64_t{s.node} << 8 | why, true);
}

void probes::left(std::uint64_t number) noexcept {
    const scope& s = scopes[number];
    if (__atomic_load_n(&s.state, __ATOMIC_RELAXED) != mpt_scope_observed) return;
    if (!recorder->note(mpt_note_left, s.node, false)) give_up(static_cast<unsigned>(number), mpt_scope_interrupted);
}

void probes::entered(unsigned number, std::uintptr_t stack) noexcept {
    scope& s = scopes[number];
    if (__atomic_load_n(&s.state, __ATOMIC_RELAXED) != mpt_scope_observed) return;
    if (__atomic_add_fetch(&s.entries, 1, __ATOMIC_RELAXED) > wanted.entries_max())
        return give_up(number, mpt_scope_too_often);
    if (__atomic_load_n(&s.node, __ATOMIC_ACQUIRE) == 0) register_scope(s);
    running_scopes& running = this_thread().running;
    if (!running.begin()) return give_up(number, mpt_scope_too_deep);
    if (has_thread_end) pthread_setspecific(thread_end, &running);
    if (!running.on_own_stack(stack)) return give_up(number, mpt_scope_other_stack);
    const std::uintptr_t return_address = *reinterpret_cast<const std::uintptr_t*>(stack);
    running.drop_below(stack, left);
    running.drop_overwritten(stack, return_address, left);
    if (const unsigned why = place_return(return_address); why != mpt_scope_observed) return give_up(number, why);
    if (!running.push({stack, return_address, number})) return give_up(number, mpt_scope_too_deep);
    if (!recorder->note(mpt_note_entered, s.node, false)) give_up(number, mpt_scope_interrupted);
}

void probes::frame_continues(std::uintptr_t stack) noexcept {
    if (!active) return;
    running_scopes& running = this_thread().running;
    if (running.depth() == 0 || !running.on_own_stack(stack)) return;
    running.drop_below(stack, left);
}

// Whether the innermost activation is on the stack is seen by a walk to it. Where none gets there (no call-frame
// information), whether it has ended is unknown from then on. So deep that a walk would take longer than all else: other
// means must do.
void probes::on_event(const preload::call_site& site) noexcept {
    running_scopes& running = this_thread().running;
    if (running.depth() == 0 || !preload::fork_mark::is_set() || !running.on_own_stack(site.stack)) return;
    preload::frame_state s{site.return_address, site.stack, site.frame, 0};
    bool exact = false;
    for (unsigned steps = 0; running.depth() > 0 && steps < walk_max;) {
        const running_scope& inner = running.innermost();
        const std::uintptr_t frame = inner.place + 8;
        if (s.stack == frame && s.return_address == inner.return_address) return;
        if (s.stack >= frame) {
            running.drop(left);
            continue;
        }
        const preload::frame_rule rule =
            exact ? preload::frame_rule::compute(s.return_address - 1, true) : rules.find(s.return_address);
        exact = rule.kind == preload::frame_rule::signal;
        ++steps;
        if (exact)
            preload::step_signal(s);
        else if (!preload::step(s, rule))
            return give_up(static_cast<unsigned>(inner.scope), mpt_scope_no_walk);
    }
}

void probes::on_trap(int signal, siginfo_t* info, void* opaque) noexcept {
    const int before = errno;
    auto* const context = static_cast<ucontext_t*>(opaque);
    gregset_t& r = context->uc_mcontext.gregs;
    const probe* const p = info->si_code > 0 ? find(static_cast<std::uintptr_t>(r[REG_RIP]) - 1) : nullptr;
    if (p == nullptr) {
        errno = before;
        return on_foreign_trap(signal, info, opaque);
    }
    if (!preload::fork_mark::is_set()) {
        recorder->begin();
        adopt_process();
    }
    const auto stack = static_cast<std::uintptr_t>(r[REG_RSP]);
    const unsigned roles = __atomic_load_n(&p->roles, __ATOMIC_ACQUIRE);
    if ((roles & is_return) != 0) frame_continues(stack);
    if ((roles & is_entry) != 0) entered(p->number, stack);
    if ((roles & is_loader) != 0 && loader->r_state == r_debug::RT_CONSISTENT) find_scopes();
    p->instruction.run(context);
    errno = before;
}

// The program's own, or what would have ended it.
void probes::on_foreign_trap(int signal, siginfo_t* info, void* context) noexcept {
    if (theirs.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN) {
        if ((theirs.sa_flags & SA_SIGINFO) != 0)
            theirs.sa_sigaction(signal, info, context);
        else
            theirs.sa_handler(signal);
        return;
    }
    constexpr unsigned long restorer = 0x04000000;
    const kernel_action usual{nullptr, restorer, &end_of_handler, 0};
    system_call(SYS_rt_sigaction, SIGTRAP, &usual, nullptr, sizeof usual.mask);
    system_call(SYS_tgkill, system_call(SYS_getpid), system_call(SYS_gettid), SIGTRAP);
}

void probes::exchange_action(const struct sigaction* fresh, struct sigaction* before) noexcept {
    const struct sigaction was = theirs;
    if (fresh != nullptr) theirs = *fresh;
    if (before != nullptr) *before = was;
}

// Tells the trace of a scope. The dynamic linker does not find a new module by address until it has relocated it, and
// so the recorder does not: such a scope is told of when it is first entered.
void probes::register_scope(scope& s) noexcept {
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void*>(s.entry), &found) != 0) return;
    const std::uint32_t node = recorder->scope(s.entry);
    std::uint32_t expected = 0;
    if (node == 0 || !__atomic_compare_exchange_n(&s.node, &expected, node, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    recorder->note(mpt_note_scope, std::uint64_t{node} << 8 | s.state, true);
}

void probes::place_scope(unsigned number, std::uintptr_t entry, const code_range& module) noexcept {
    scope& s = scopes[number];
    s.entry = entry;
    s.state = has_shadow_stack()                        ? mpt_scope_shadow_stack
              : !place(entry, module, is_entry, number) ? mpt_scope_not_placed
                                                        : mpt_scope_observed;
    register_scope(s);
}

// The functions of modules that have come since. One whose module has gone is given up: it may come back elsewhere.
void probes::find_scopes() noexcept {
    rules.forget(0, ~std::uintptr_t{0});
    for (unsigned i = 0; i < wanted.count(); ++i) {
        dl_find_object found{};
        if (scopes[i].entry == 0 || scopes[i].state != mpt_scope_observed) continue;
        if (_dl_find_object(reinterpret_cast<void*>(scopes[i].entry), &found) != 0 || !is_in_place(scopes[i].entry))
            give_up(i, mpt_scope_unloaded);
    }
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void*) {
            for (unsigned i = 0; i < wanted.count(); ++i) {
                const wanted_scope& s = wanted.at(i);
                if (scopes[i].entry == 0 && is_code(*module, s.offset) && is_wanted(*module, s))
                    place_scope(i, module->dlpi_addr + s.offset, range_of(*module));
            }
            return 0;
        },
        nullptr);
}

// In a forked child the breakpoints stand in the copied code. Its trace is its own.
void probes::register_scopes() noexcept {
    for (unsigned i = 0; i < wanted.count(); ++i) {
        if (scopes[i].entry == 0) continue;
        scopes[i].node = 0;
        register_scope(scopes[i]);
    }
}

void probes::adopt_process() noexcept {
    if (!preload::fork_mark::claim()) return;
    new (&placing) preload::spin_lock();
    this_thread().running.forget_all();
    preload::fork_mark::set();
    register_scopes();
}

// The function that the dynamic linker calls for debuggers when its list of modules has changed.
void probes::watch_loader() noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void*) {
            for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
                if (module->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
                const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
                for (; entry->d_tag != DT_NULL; ++entry)
                    if (entry->d_tag == DT_DEBUG) loader = reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
            }
            return 1;  // the executable comes first
        },
        nullptr);
    dl_find_object found{};
    if (loader == nullptr || _dl_find_object(reinterpret_cast<void*>(loader->r_brk), &found) != 0) return;
    place(loader->r_brk,
          {reinterpret_cast<std::uintptr_t>(found.dlfo_map_start), reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)},
          is_loader, 0);
}

event_watcher probes::start(const recorder_calls* calls) noexcept {
    if (active) {
        if (!preload::fork_mark::is_set()) adopt_process();
        return &on_event;
    }
    if (!wanted.read()) return nullptr;
    recorder = calls;
    table = preload::take_pages<probe>(sizeof(probe) * probes_max);
    scopes = preload::take_pages<scope>(sizeof(scope) * wanted_scopes::scopes_max);
    kernel_action before{};
    if (table == nullptr || scopes == nullptr || !set_action(&on_trap, &before)) return nullptr;
    theirs.sa_sigaction = before.handler;
    theirs.sa_flags = static_cast<int>(before.flags);
    has_thread_end =
        pthread_key_create(&thread_end, [](void* mine) { static_cast<running_scopes*>(mine)->end(); }) == 0;
    unblock_trap();
    (void)preload::fork_mark::claim();
    preload::fork_mark::set();
    active = true;
    find_scopes();
    watch_loader();
    return &on_event;
}

void probes::stop() noexcept {
    if (!active) return;
    for (unsigned i = 0; i < wanted.count(); ++i)
        if (scopes[i].entry != 0) give_up(i, mpt_scope_filtered);
    const preload::spin_guard guard(placing);
    for (std::size_t i = 0; i < probes_max; ++i)
        if (table[i].address != 0) write_code(table[i].address, &table[i].original, 1);
}

}  // namespace millpond::record
