// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/attachment.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/attach/thread_stop.hpp"
#include "lab/program/program.hpp"
#include "lab/symbols/elf_file.hpp"

namespace millpond::attach {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(5);
constexpr auto patience_without_parents = std::chrono::milliseconds(500);
constexpr unsigned unsafe_places =
    thread_places::loader | thread_places::allocator | thread_places::process | thread_places::recorder;
// The results of the recorder's join that are no errno: recorder::refusals.
constexpr int no_malloc = 1001, own_malloc = 1002;

void let_it_run() {
    constexpr timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

[[noreturn]] void refuse(const std::string& why) { throw program::failure(program::environment, why); }

[[noreturn]] void refuse_join(int result) {
    if (result == no_malloc) refuse("the program has no malloc that can be replaced");
    if (result == own_malloc)
        refuse("a malloc is linked into the executable, so its calls cannot be seen; link that malloc dynamically");
    refuse(std::string("the program cannot open the recording's file: ") + strerror(result) +
           "; choose a folder that it can reach with -o");
}

}  // namespace

attachment::attachment(pid_t pid, const std::vector<std::string>& libraries) : process_(pid) {
    process_.refuse_unfit(libraries.front());
    for (const std::string& library : libraries) {
        recorders_.push_back(read(library));
        const auto loaded = process_.find_module(name_of(library));
        if (loaded && !process_.is_same_file(*loaded, library))
            refuse("the program has loaded the recorder of another Millpond; start it again, or attach with that one");
    }
}

attachment::recorder attachment::read(const std::string& library) {
    recorder found{library, {}};
    std::vector<symbols::raw_symbol> functions;
    symbols::elf_file(library).append_functions(functions);
    for (const symbols::raw_symbol& function : functions) {
        if (function.name == "millpond_attach_is_at_rest") found.offsets.is_at_rest = function.address;
        if (function.name == "millpond_attach_join") found.offsets.join = function.address;
        if (function.name == "millpond_attach_enable") found.offsets.enable = function.address;
        if (function.name == "millpond_attach_disable") found.offsets.disable = function.address;
        if (function.name == "millpond_attach_leave") found.offsets.leave = function.address;
    }
    return found;
}

void attachment::note_stop(steady::time_point since) {
    longest_stop_ =
        std::max(longest_stop_, std::chrono::duration_cast<std::chrono::microseconds>(steady::now() - since));
}

// Stops one thread after the other, until one is at a safe place, and acts in it until that returns true. One with
// children comes into question late, because tracing it can disturb others (thread_stop.hpp).
bool attachment::with_safe_thread(const thread_places& places, const action& act) {
    const auto begin = steady::now();
    for (; steady::now() < begin + patience; let_it_run()) {
        const std::vector<pid_t> threads = process_.threads();
        const bool takes_parents = threads.size() == 1 || steady::now() > begin + patience_without_parents;
        for (const pid_t id : threads) {
            if (!takes_parents && process_.has_children(id)) continue;
            const auto since = steady::now();
            bool done = false;
            {
                traced_thread thread(process_, id);
                thread.interrupt();
                if (!thread.wait() || (places.of(id) & unsafe_places) != 0) continue;
                remote_call in(thread, places.libc());
                done = act(in);
            }
            note_stop(since);
            if (done) return true;
        }
        if (!process_.is_running()) refuse("the program ended while it was attached to");
    }
    return false;
}

// Acts while all threads are stopped and none is in a place to avoid. `stopped`: the one that is stopped already.
bool attachment::with_all_stopped(const thread_places& places, unsigned avoided, pid_t stopped,
                                  const std::function<void()>& act) {
    constexpr int tries = 20;
    for (int i = 0; i < tries; ++i) {
        if (i > 0) let_it_run();
        const auto since = steady::now();
        {
            const thread_stop others(process_, stopped);
            const bool is_free =
                std::none_of(others.threads().begin(), others.threads().end(),
                             [&](const traced_thread& t) { return (places.of(t.id()) & avoided) != 0; });
            if (is_free) act();
            if (is_free) i = tries;
        }
        note_stop(since);
        if (i == tries) return true;
    }
    return false;
}

attachment::entries attachment::find_entries(const recorder& of) const {
    const auto module = process_.find_module(name_of(of.library));
    if (!module) return {};
    const std::uint64_t first = module->first;
    return {first + of.offsets.is_at_rest, first + of.offsets.join, first + of.offsets.enable,
            first + of.offsets.disable, first + of.offsets.leave};
}

// Returns dlopen's handle, and 0 with the reason thrown.
std::uint64_t attachment::load(remote_call& in, const thread_places& places) {
    const std::uint64_t handle = in.call(places.libc().dlopen, {in.place(recorders_.front().library), RTLD_NOW});
    if (handle != 0) return handle;
    refuse("the program cannot load the recorder: " + in.text_at(in.call(places.libc().dlerror, {})));
}

// Ends what is left of a recording whose tracer was killed, or of a parent's in a forked child.
void attachment::end_former(const recorder& of) {
    const entries in_library = find_entries(of);
    if (in_library.is_at_rest == 0) return;
    bool is_at_rest = false;
    with_safe_thread(thread_places(process_), [&](remote_call& in) {
        is_at_rest = (in.call(in_library.is_at_rest, {}) & 1) != 0;
        return true;
    });
    if (is_at_rest) end(of);
    if (!is_at_rest || !release(of))
        refuse(
            "the program is recorded already; end that recording, or complete it with 'millpond trace record "
            "--finish FILE' if its recorder was killed");
}

void attachment::begin(const std::string& partial, bool places_frees) {
    for (const recorder& each : recorders_) end_former(each);
    process_.require_same_file(partial);
    const thread_places places(process_);
    bool is_enabled = false;
    const bool found = with_safe_thread(places, [&](remote_call& in) {
        load(in, places);
        const entries in_library = find_entries(recorders_.front());
        if (in_library.join == 0) refuse("the program has not loaded the recorder, though it said so; report this");
        const auto joined = static_cast<int>(in.call(in_library.join, {in.place(partial), places_frees ? 1u : 0u}));
        if (joined != 0) refuse_join(joined);
        is_enabled =
            with_all_stopped(places, thread_places::loader, in.thread(), [&] { in.call(in_library.enable, {}); });
        if (!is_enabled) in.call(in_library.leave, {});
        return true;
    });
    if (!found || !is_enabled)
        refuse("none of the program's threads came to a place where it can load the recorder within " +
               std::to_string(patience.count()) + " s; try again");
}

void attachment::end(const recorder& of) {
    const entries in_library = find_entries(of);
    if (in_library.leave == 0) return;
    const thread_places places(process_);
    bool is_disabled = false;
    with_safe_thread(places, [&](remote_call& in) {
        is_disabled =
            with_all_stopped(places, thread_places::loader, in.thread(), [&] { in.call(in_library.disable, {}); });
        return is_disabled;
    });
    if (!is_disabled)
        refuse(
            "none of the program's threads came to a place where its calls can be given back; it goes on through a "
            "recorder that sleeps");
}

bool attachment::release(const recorder& of) {
    const entries in_library = find_entries(of);
    if (in_library.leave == 0) return true;
    const thread_places places(process_);
    bool is_left = false;
    with_safe_thread(places, [&](remote_call& in) {
        return with_all_stopped(places, thread_places::loader | thread_places::recorder, in.thread(),
                                [&] { is_left = (in.call(in_library.leave, {}) & 1) != 0; });
    });
    return is_left;
}

}  // namespace millpond::attach
