// SPDX-License-Identifier: BSL-1.0
#include "lab/probes/probes.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "lab/probes/breakpoints.hpp"
#include "lab/probes/entry_jump.hpp"
#include "lab/probes/running_scopes.hpp"
#include "lab/probes/trap_action.hpp"
#include "lab/probes/wanted_scopes.hpp"
#include "lab/trace/format.h"
#include "preload/fork_mark.hpp"
#include "preload/frame_walk.hpp"
#include "preload/pages.hpp"
#include "preload/rule_cache.hpp"
#include "preload/system.hpp"

namespace millpond::probes {

struct probes::scope {
    std::uintptr_t entry;  // 0: its module is not loaded
    std::uint64_t entries;
    std::uint32_t node;
    std::uint32_t state;
    bool jumps;  // there is a jump at its entry, not a breakpoint
};

namespace {

constexpr unsigned walk_max = 256;  // frames

constinit preload::rule_cache rules;

constinit wanted_scopes wanted;
const recorder_calls* recorder = nullptr;
bool active = false;
const r_debug* loader = nullptr;
pthread_key_t thread_end;
bool has_thread_end = false;

// The state of one thread; all zero at its start.
struct thread_state {
    running_scopes running;
    bool believes_blocked;
    // The stack pointer when a change of `running` began; 0: no change is in progress. A signal handler that interrupts
    // the change does not touch `running`.
    std::uintptr_t changes_at;
};
static_assert(sizeof(thread_state) <= recorder_calls::room_bytes);

thread_state& this_thread() noexcept { return *static_cast<thread_state*>(recorder->room()); }

// Keeps this thread's signal handlers away from its running scopes while the kernel does not. A handler that was left
// by a jump no longer counts.
class change {
  public:
    change(thread_state& of, std::uintptr_t stack) noexcept
        : of_(of), is_outer_(of.changes_at == 0 || of.changes_at < stack) {
        if (is_outer_) of_.changes_at = stack;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    ~change() {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (is_outer_) of_.changes_at = 0;
    }
    change(const change&) = delete;
    change& operator=(const change&) = delete;
    [[nodiscard]] bool is_outer() const noexcept { return is_outer_; }

  private:
    thread_state& of_;
    bool is_outer_;
};

bool has_shadow_stack() noexcept {
    constexpr long shstk_status = 0x5005;
    std::uint64_t features = 0;
    return preload::system_call(SYS_arch_prctl, shstk_status, &features) == 0 && (features & 1) != 0;
}

}  // namespace

constinit probes::scope* probes::scopes = nullptr;

bool probes::is_active() noexcept { return active; }
bool& probes::believes_blocked() noexcept { return this_thread().believes_blocked; }

// Returns 0, or the reason why the return of an activation cannot be seen.
unsigned probes::place_return(std::uintptr_t address, unsigned number) noexcept {
    const breakpoint* const known = breakpoints::find(address);
    if (known != nullptr && (known->roles_now() & breakpoint::is_return) != 0 &&
        (known->returns_of == number || known->returns_of == breakpoint::several))
        return breakpoints::is_in_place(address) ? mpt_scope_observed : mpt_scope_unloaded;
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void*>(address - 1), &found) != 0) return mpt_scope_generated;
    const code_range module{reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
                            reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)};
    if (!breakpoints::is_return_site(address, module.first)) return mpt_scope_no_return;
    return breakpoints::place(address, module, breakpoint::is_return, number) ? mpt_scope_observed
                                                                              : mpt_scope_no_return;
}

void probes::give_up(unsigned number, unsigned why) noexcept {
    scope& s = scopes[number];
    std::uint32_t expected = mpt_scope_observed;
    if (!__atomic_compare_exchange_n(&s.state, &expected, why, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
    if (why != mpt_scope_unloaded && !s.jumps) breakpoints::remove_entry(s.entry);
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
    if (recorder->began != nullptr) {
        running.drop_ended(stack + 1, left);  // one at this very place has returned, too
        if (!running.push({stack, return_address, number})) return give_up(number, mpt_scope_too_deep);
        return recorder->began(s.node, stack, !s.jumps);
    }
    running.drop_below(stack, left);
    running.drop_overwritten(stack, return_address, left);
    if (const unsigned why = place_return(return_address, number); why != mpt_scope_observed)
        return give_up(number, why);
    if (!running.push({stack, return_address, number})) return give_up(number, mpt_scope_too_deep);
    if (!recorder->note(mpt_note_entered, s.node, false)) give_up(number, mpt_scope_interrupted);
}

void probes::entered_by_jump(std::uint64_t number, std::uintptr_t stack) noexcept {
    const int before = errno;
    if (!preload::fork_mark::is_set()) {
        recorder->begin();
        adopt_process();
    }
    if (const change begun(this_thread(), stack); begun.is_outer()) entered(static_cast<unsigned>(number), stack);
    errno = before;
}

void probes::frame_continues(std::uintptr_t stack) noexcept {
    if (!active) return;
    thread_state& self = this_thread();
    if (self.running.depth() == 0 || (stack != UINTPTR_MAX && !self.running.on_own_stack(stack))) return;
    const change begun(self, stack);
    if (!begun.is_outer()) return;
    if (recorder->began != nullptr && stack != UINTPTR_MAX)
        self.running.drop_ended(stack, left);
    else
        self.running.drop_below(stack, left);
}

// A walk to the innermost activation shows whether it is on the stack. If no walk gets there (no call-frame
// information), it is unknown from then on whether it has ended. If the stack is so deep that walks would dominate the
// run, other means have to do.
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
    const breakpoint* const p =
        info->si_code > 0 ? breakpoints::find(static_cast<std::uintptr_t>(r[REG_RIP]) - 1) : nullptr;
    if (p == nullptr) {
        errno = before;
        return trap_action::pass_on(signal, info, opaque);
    }
    if (!preload::fork_mark::is_set()) {
        recorder->begin();
        adopt_process();
    }
    const auto stack = static_cast<std::uintptr_t>(r[REG_RSP]);
    const unsigned roles = p->roles_now();
    if ((roles & breakpoint::is_return) != 0) {
        frame_continues(stack);
        // Otherwise a function that is no longer observed would still cost a trap for each return.
        const unsigned of = p->returns_of;
        if (of < wanted.count() && __atomic_load_n(&scopes[of].state, __ATOMIC_RELAXED) != mpt_scope_observed)
            breakpoints::remove_return(p->address, of);
    }
    if ((roles & breakpoint::is_entry) != 0) entered(p->number, stack);
    if ((roles & breakpoint::is_loader) != 0 && loader->r_state == r_debug::RT_CONSISTENT) find_scopes();
    p->instruction.run(context);
    errno = before;
}

// Records a scope in the trace. The dynamic linker, and so the recorder, finds a new module by address only after
// relocating it. Such a scope is recorded when it is first entered.
void probes::register_scope(scope& s) noexcept {
    dl_find_object found{};
    if (_dl_find_object(reinterpret_cast<void*>(s.entry), &found) != 0) return;
    const std::uint32_t node = recorder->scope(s.entry, static_cast<unsigned>(&s - scopes));
    std::uint32_t expected = 0;
    if (node == 0 || !__atomic_compare_exchange_n(&s.node, &expected, node, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    recorder->note(mpt_note_scope, std::uint64_t{node} << 8 | s.state, true);
}

void probes::place_scope(unsigned number, std::uintptr_t entry, const code_range& module) noexcept {
    scope& s = scopes[number];
    s.entry = entry;
    s.jumps =
        recorder->began != nullptr && !has_shadow_stack() && entry_jump::place(entry, module, number, &entered_by_jump);
    s.state = has_shadow_stack()                                                             ? mpt_scope_shadow_stack
              : !s.jumps && !breakpoints::place(entry, module, breakpoint::is_entry, number) ? mpt_scope_not_placed
                                                                                             : mpt_scope_observed;
    register_scope(s);
}

// Finds the functions of newly loaded modules. A function whose module was unloaded is given up: it may be loaded again
// elsewhere.
void probes::find_scopes() noexcept {
    rules.forget(0, ~std::uintptr_t{0});
    for (unsigned i = 0; i < wanted.count(); ++i) {
        dl_find_object found{};
        if (scopes[i].entry == 0 || scopes[i].state != mpt_scope_observed) continue;
        const auto is_in_place = scopes[i].jumps ? &entry_jump::is_in_place : &breakpoints::is_in_place;
        if (_dl_find_object(reinterpret_cast<void*>(scopes[i].entry), &found) != 0 || !is_in_place(scopes[i].entry))
            give_up(i, mpt_scope_unloaded);
    }
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void*) {
            for (unsigned i = 0; i < wanted.count(); ++i) {
                const wanted_scope& s = wanted.at(i);
                if (scopes[i].entry == 0 && s.is_in(*module))
                    place_scope(i, module->dlpi_addr + s.offset, code_range::of(*module));
            }
            return 0;
        },
        nullptr);
}

// In a forked child the breakpoints stand in the copied code, but its trace is new.
void probes::register_scopes() noexcept {
    for (unsigned i = 0; i < wanted.count(); ++i) {
        if (scopes[i].entry == 0) continue;
        scopes[i].node = 0;
        register_scope(scopes[i]);
    }
}

void probes::adopt_process() noexcept {
    if (!preload::fork_mark::claim()) return;
    breakpoints::adopt();
    this_thread().running.forget_all();
    preload::fork_mark::set();
    register_scopes();
}

// Watches the function that the dynamic linker calls for debuggers when its list of modules has changed.
void probes::watch_loader() noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t, void*) {
            for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
                if (module->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
                const auto* entry =
                    reinterpret_cast<const ElfW(Dyn)*>(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
                for (; entry->d_tag != DT_NULL; ++entry)
                    if (entry->d_tag == DT_DEBUG) loader = reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
            }
            return 1;  // the executable comes first
        },
        nullptr);
    dl_find_object found{};
    if (loader == nullptr || _dl_find_object(reinterpret_cast<void*>(loader->r_brk), &found) != 0) return;
    breakpoints::place(
        loader->r_brk,
        {reinterpret_cast<std::uintptr_t>(found.dlfo_map_start), reinterpret_cast<std::uintptr_t>(found.dlfo_map_end)},
        breakpoint::is_loader, 0);
}

event_watcher probes::start(const recorder_calls* calls) noexcept {
    if (active) {
        if (!preload::fork_mark::is_set()) adopt_process();
        return &on_event;
    }
    if (!wanted.read()) return nullptr;
    recorder = calls;
    scopes = preload::take_pages<scope>(sizeof(scope) * wanted_scopes::scopes_max);
    if (scopes == nullptr || !breakpoints::start() || !trap_action::take(&on_trap)) return nullptr;
    has_thread_end =
        pthread_key_create(&thread_end, [](void* mine) { static_cast<running_scopes*>(mine)->end(); }) == 0;
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
    breakpoints::remove_all();
}

}  // namespace millpond::probes
