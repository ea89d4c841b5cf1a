// SPDX-License-Identifier: BSL-1.0
#include "lab/record/recorder.hpp"

#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <bit>
#include <iterator>
#include <new>

#include "lab/probes/probe_link.hpp"
#include "lab/record/system.hpp"
#include "lab/record/variable.hpp"
#include "millpond/os/pages.hpp"
#include "preload/caller_words.hpp"
#include "preload/fork_mark.hpp"
#include "preload/machine.hpp"
#include "preload/pages.hpp"
#include "preload/redirection.hpp"
#include "preload/thread_register.hpp"

namespace millpond::record {

constexpr std::uint64_t ahead_bytes_usual = std::uint64_t{64} << 20;
constexpr std::uint32_t no_turn = ~std::uint32_t{0};  // a process that records nothing
constinit const std::uint32_t always_awake = 0;
constinit const std::uint32_t always_asleep = mpt_asleep;

struct recorder::process {
    output out;
    description described;
    preload::context_space space;
    int number = 0;  // of fork_mark
    std::uint32_t turn = no_turn;
    std::uint32_t streams = 0;  // numbers given so far
    std::uint32_t users = 0;    // atomic; threads that have a stream here
    process* former = nullptr;  // the next one among those of former stretches
    stream* late = nullptr;     // for events that have no stream of their own
    preload::holder_lock late_lock;
    preload::spin_lock register_lock;
    preload::thread_register<stream> by_thread;  // those of living threads, and of some that ended without detach
};

struct recorder::image_state {
    image_facts facts;
    partial_file partial;
    states state = not_started;
    std::uint64_t clock_ticks = 0;  // what two readings of the clock cost at least
    pthread_key_t thread_end = 0;
    bool has_thread_end = false;
    bool places_frees = false;
    bool was_forked_in_hook = false;          // this process, and it has not begun yet
    probes::event_watcher watcher = nullptr;  // where scopes are observed
    preload::holder_lock turn_lock;           // of a thread that begins a stretch
    std::uint32_t turn_refused = no_turn;     // the stretch that could not begin
    std::uint64_t restricted_pid = 0;         // of a process that has forbidden itself system calls
    std::uint32_t visits = 0;                 // atomic
    process* former = nullptr;                // the processes of former stretches
    bool is_prepared = false;                 // prepare_image has run
    std::uint32_t left_turn = 0;              // the last one of the recordings that were left (leave)
};

thread_local recorder::per_thread recorder::thread_ = {};
constinit recorder::image_state recorder::image_{};
constinit recorder::process recorder::first_{};
constinit recorder::process* recorder::now_ = &recorder::first_;

[[gnu::always_inline]] inline void recorder::watch(const preload::call_site& site) noexcept {
    if (image_.watcher != nullptr) [[unlikely]]
        image_.watcher(site);
}

// In a child, visits of threads that only the parent has count on: then former stretches keep their memory.
class recorder::visit {
  public:
    visit() noexcept { __atomic_add_fetch(&image_.visits, 1, __ATOMIC_SEQ_CST); }
    ~visit() { __atomic_sub_fetch(&image_.visits, 1, __ATOMIC_SEQ_CST); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
};

// A handler that interrupted a holder of the late stream on the same thread must not wait for it.
class recorder::hold {
  public:
    // A handler may fork between any two instructions, and the child may return here. So the stream is taken first, and
    // the process checked afterwards. A child made before that sees that it is one; a child made after has found the
    // stream busy and isolated it. The parent's stream is not taken either if another thread of the child came first.
    [[gnu::always_inline]] explicit hold(std::uint32_t turn) noexcept : stream_(thread_.own) {
        if (stream_ != nullptr && thread_.busy == nullptr) [[likely]] {
            thread_.busy = stream_;
            __asm__ volatile("" ::: "memory");
            if (preload::fork_mark::number() == thread_.process_number && turn == thread_.turn) [[likely]]
                return;
            thread_.busy = nullptr;
        }
        find_stream();
        __asm__ volatile("" ::: "memory");
    }
    [[gnu::always_inline]] ~hold() {
        __asm__ volatile("" ::: "memory");
        if (late_of_ == nullptr) [[likely]] {
            if (stream_ != nullptr) [[likely]]
                thread_.busy = nullptr;
        } else {
            give_late();
        }
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    stream* operator->() const noexcept { return stream_; }
    explicit operator bool() const noexcept { return stream_ != nullptr; }

  private:
    [[gnu::noinline, gnu::cold]] void find_stream() noexcept {
        const visit here;
        mpt_lost why = mpt_lost_handler;
        constexpr int tries = 100000;  // each after the first follows a fork
        for (int i = 0; i < tries; ++i) {
            stream_ = nullptr;
            if (!is_recording() && !start_process()) return;
            attach();
            stream* const own = thread_.own;
            process* const p = now_;
            if (own != nullptr && thread_.busy == nullptr) {
                thread_.busy = stream_ = own;
                __asm__ volatile("" ::: "memory");
                if (preload::fork_mark::is_set()) return;
                thread_.busy = nullptr;
            } else if (lock_late(*p)) {
                interrupted_ = thread_.busy;
                late_of_ = p;
                __atomic_add_fetch(&image_.visits, 1, __ATOMIC_SEQ_CST);  // until give_late
                if (p->late == nullptr) p->late = stream::create(p->out, p->space, 0);
                if (p->late != nullptr) {
                    thread_.busy = stream_ = p->late;
                    __asm__ volatile("" ::: "memory");
                    if (preload::fork_mark::is_set()) return;
                }
                if (p->late == nullptr) why = mpt_lost_memory;
                give_late();
                late_of_ = nullptr;
                if (why == mpt_lost_memory) break;
            } else if (preload::fork_mark::is_set()) {
                break;
            }
            preload::machine::pause();
        }
        stream_ = nullptr;
        if (is_recording()) now_->out.lose(why);
    }
    // Fails in a handler that interrupted its holder. Another handler waits for some seconds, because its thread may
    // hold any lock. A thread without a stream of its own waits until its turn comes, however busy the machine is.
    static bool lock_late(process& of) noexcept {
        constexpr unsigned waits_in_handler = 120;  // 100 short ones, then a tenth of a second each
        unsigned waits = 0;
        const bool in_handler = thread_.busy != nullptr;
        return of.late_lock.lock_while(pthread_self(), [&] {
            return preload::fork_mark::is_set() && !(in_handler && ++waits > waits_in_handler);
        });
    }
    [[gnu::noinline, gnu::cold]] void give_late() noexcept {
        thread_.busy = interrupted_;
        late_of_->late_lock.unlock();
        __atomic_sub_fetch(&image_.visits, 1, __ATOMIC_SEQ_CST);
    }

    stream* stream_;
    process* late_of_ = nullptr;
    stream* interrupted_ = nullptr;
};

// Whoever calls it is within a visit.
bool recorder::is_recording() noexcept {
    return preload::fork_mark::is_set() && __atomic_load_n(&image_.state, __ATOMIC_ACQUIRE) == recording_on &&
           __atomic_load_n(&now_, __ATOMIC_ACQUIRE)->turn == turn();
}

// Returns whether this process is recorded now. The first thread that comes here prepares a new process image, a
// forked copy, or a stretch. Whoever calls it is within one visit.
bool recorder::start_process() noexcept {
    if (thread_.starting) return false;
    if (preload::fork_mark::is_set()) return follow_turn();
    if (preload::fork_mark::claim()) {
        thread_.starting = true;
        if (image_.state == not_started)
            begin_image();
        else if (image_.state == recording_on)
            begin_child();
        now_->out.settle();
        preload::fork_mark::set();
        now_->number = thread_.process_number = preload::fork_mark::number();
        thread_.starting = false;
        start_probes();
    }
    while (!preload::fork_mark::is_set()) preload::machine::pause();
    return is_recording();
}

void recorder::start() noexcept {
    const visit here;
    start_process();
}

sample_request recorder::sampling() noexcept {
    constexpr std::uint64_t never = std::uint64_t{1} << 62;
    if (!preload::fork_mark::is_set()) start();
    if (!preload::fork_mark::is_set()) return {};
    const visit here;
    if (__atomic_load_n(&image_.state, __ATOMIC_ACQUIRE) != recording_on) return {never, 1, 0};
    const mpt_slot_file& shared = now_->out.shared();
    return {shared.sample_bytes, shared.sample_seed, image_.left_turn + 1};
}

bool recorder::may_map() noexcept {
    const visit here;
    return is_recording() && !now_->out.is_mapped_ahead();
}

void recorder::lose() noexcept {
    const visit here;
    if (is_recording()) now_->out.lose(mpt_lost_memory);
}

// Goes on to the present stretch, unless another thread has done so. Returns whether this process records there.
bool recorder::follow_turn() noexcept {
    if (__atomic_load_n(&image_.state, __ATOMIC_ACQUIRE) != recording_on || is_asleep(turn())) return false;
    if (!image_.turn_lock.lock_while(pthread_self(), &preload::fork_mark::is_set)) return false;
    thread_.starting = true;
    const std::uint32_t wanted = turn();
    const bool records =
        now_->turn == wanted || (!is_asleep(wanted) && wanted != image_.turn_refused && begin_stretch(wanted));
    thread_.starting = false;
    image_.turn_lock.unlock();
    return records;
}

bool recorder::begin_stretch(std::uint32_t turn) noexcept {
    process* const before = now_;
    image_.turn_refused = turn;
    if (image_.restricted_pid != 0) {
        before->out.refuse(image_.restricted_pid, mpt_stop_filter);
        return false;
    }
    auto* const memory = preload::take_pages<process>(sizeof(process));
    if (memory == nullptr) {
        before->out.refuse(static_cast<std::uint64_t>(system_call(SYS_getpid)), ENOMEM);
        return false;
    }
    dispose_of_former();
    auto* const fresh = new (memory) process();
    fresh->number = before->number;
    fresh->out.inherit(before->out);
    if (!begin_process(*fresh, turn)) {
        fresh->described.abandon();
        fresh->out.close();
        preload::give_pages(memory, sizeof(process));
        return false;
    }
    fresh->out.settle();
    image_.turn_refused = no_turn;
    __atomic_store_n(&now_, fresh, __ATOMIC_SEQ_CST);
    before->former = image_.former;
    image_.former = before;
    return true;
}

// Under the turn's lock, within one visit. If other threads look up a process now, the next stretch does it.
void recorder::dispose_of_former() noexcept {
    if (__atomic_load_n(&image_.visits, __ATOMIC_SEQ_CST) != 1) return;
    for (process** at = &image_.former; *at != nullptr;) {
        process* const p = *at;
        if (__atomic_load_n(&p->users, __ATOMIC_ACQUIRE) != 0) {
            at = &p->former;
            continue;
        }
        *at = p->former;
        dispose(*p);
    }
}

void recorder::dispose(process& p) noexcept {
    if (p.late != nullptr) stream::forget(p.late);
    p.described.abandon();
    p.out.close();
    p.space.clear();
    if (&p != &first_) preload::give_pages(&p, sizeof(process));
}

void recorder::start_probes() noexcept {
    static constexpr probes::recorder_calls calls{&start, &note, &scope, &probes_room};
    if (millpond_probes_start != nullptr && is_recording() && !image_.facts.filtered)
        image_.watcher = millpond_probes_start(&calls);
}

bool recorder::note(unsigned subject, std::uint64_t value, bool anywhere) noexcept {
    if (!anywhere && (thread_.busy != nullptr || (thread_.attached && thread_.own == nullptr))) return false;
    const hold s(turn());
    if (s) s->noted(subject, value, s->stamp());
    return static_cast<bool>(s);
}

bool recorder::begin_phase(const char* name, std::size_t bytes) noexcept {
    const hold s(turn());
    if (s) s->began_phase(name, bytes);
    return static_cast<bool>(s);
}

void* recorder::probes_room() noexcept {
    alignas(8)
        [[gnu::tls_model("initial-exec")]] static thread_local std::uint8_t room[probes::recorder_calls::room_bytes];
    return room;
}

std::uint32_t recorder::scope(std::uintptr_t entry, unsigned) noexcept {
    const visit here;
    return is_recording() ? now_->space.tree.child(0, entry + 1) : 0;
}

void recorder::attach() noexcept {
    const int here = preload::fork_mark::number();
    process& p = *now_;
    if (thread_.attached && thread_.process_number == here) {
        // A handler that has interrupted a hook leaves the hook its stream, and writes to the late one.
        if (thread_.turn == p.turn || thread_.busy != nullptr) return;
        leave_stream();
    }
    thread_.attached = true;  // first, so that what attaching allocates goes to the late stream
    thread_.process_number = here;
    thread_.turn = p.turn;
    thread_.own = nullptr;
    // A thread for which no memory can be mapped writes to the late stream. With many threads that stream is made
    // early.
    constexpr std::uint32_t many = 256;
    const std::uint32_t number = __atomic_add_fetch(&p.streams, 1, __ATOMIC_RELAXED);
    if (number == many && p.late_lock.lock_while(pthread_self(), &preload::fork_mark::is_set)) {
        if (p.late == nullptr) p.late = stream::create(p.out, p.space, 0, false);
        p.late_lock.unlock();
    }
    stream* const s = stream::create(p.out, p.space, number, number == 1);
    if (s != nullptr) __atomic_add_fetch(&p.users, 1, __ATOMIC_RELAXED);
    if (stream* const left = exchange_stream(p, s); left != nullptr) {
        stream::destroy(left);
        __atomic_sub_fetch(&p.users, 1, __ATOMIC_RELEASE);
    }
    if (s != nullptr && image_.has_thread_end)
        pthread_setspecific(image_.thread_end, reinterpret_cast<void*>(std::uintptr_t{1}));
    thread_.owner = &p;
    thread_.own = s;
}

// Ends the calling thread's use of its stream. The trace of a former stretch may be finished, so nothing more is
// written there: its finishing pass takes open blocks as they are.
void recorder::leave_stream() noexcept {
    stream* const s = thread_.own;
    thread_.own = nullptr;
    if (s == nullptr) return;
    if (is_left(thread_.turn)) return;
    process& p = *thread_.owner;
    exchange_stream(p, nullptr);
    if (p.turn == turn())
        stream::destroy(s);
    else
        stream::forget(s);
    __atomic_sub_fetch(&p.users, 1, __ATOMIC_RELEASE);
}

// Returns: the stream noted for the calling thread; `fresh` (null: none) replaces it. If a new thread finds a stream,
// an earlier thread on its stack left it, whose first event was one of its last.
stream* recorder::exchange_stream(process& p, stream* fresh) noexcept {
    const preload::spin_guard guard(p.register_lock);
    const auto self = static_cast<std::uintptr_t>(pthread_self());
    stream* const known = p.by_thread.remove(self);
    if (fresh != nullptr) p.by_thread.add(*fresh, self);
    return known;
}

// At a thread's end, in the last round of destructors, so that other destructors' events come before.
void recorder::detach(void* round) noexcept {
    const auto rounds = reinterpret_cast<std::uintptr_t>(round);
    if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(image_.thread_end, reinterpret_cast<void*>(rounds + 1));
        return;
    }
    if (preload::fork_mark::number() == thread_.process_number && image_.state == recording_on)
        leave_stream();
    else
        thread_.own = nullptr;
}

void recorder::on_new_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    process& p = *now_;
    if (thread_.busy != nullptr && &thread_.busy->out() != &p.out) return;  // a hook that a fork has interrupted
    p.described.add_context(id, parent, return_address);
}

void recorder::begin_image() noexcept {
    image_.state = off;
    find_file(image_.partial.path, sizeof image_.partial.path);
    if (image_.partial.path[0] == 0) return;
    preload::real::is_libc();  // before anything is recorded: the look-up may allocate
    image_.facts.gather();
    if (const int error = first_.out.open(image_.partial); error != 0) {
        // A system call that a filter forbids would end the program.
        if (!image_.facts.filtered) say_refused(image_.partial.path, error);
        return;
    }
    char owners[8];
    preload::find_variable(owners_variable, owners, sizeof owners);
    if (owners[0] != 0) preload::caller_words::keep();
    char frees[8];
    preload::find_variable(frees_variable, frees, sizeof frees);
    image_.places_frees = frees[0] != 0;
    prepare_image();
    millpond_turn = &first_.out.shared().turn;
    if (const std::uint32_t now = turn(); !is_asleep(now)) {
        if (!begin_process(first_, now)) return;
        attach();  // at once, because a program may lower its limits before its first event
    }
    const std::uint64_t ahead = first_.out.shared().ahead_bytes;
    if (ahead != 0 || image_.facts.filtered) first_.out.map_ahead(ahead != 0 ? ahead : ahead_bytes_usual);
    image_.state = recording_on;
}

// Makes ready what a process image needs once, to be recorded.
void recorder::prepare_image() noexcept {
    image_.is_prepared = true;
    image_.clock_ticks = ~std::uint64_t{0};
    for (int i = 0; i < 32; ++i) {
        const std::uint64_t first = ticks(), second = ticks();
        if (second - first < image_.clock_ticks) image_.clock_ticks = second - first;
    }
    image_.has_thread_end = pthread_key_create(&image_.thread_end, &detach) == 0;
    pthread_atfork(nullptr, nullptr, &after_fork_in_child);
}

// A thread that has not entered since keeps a stream that leave() has given back.
bool recorder::is_left(std::uint32_t turn) noexcept { return image_.left_turn != 0 && turn <= image_.left_turn; }

// The recording gets turns behind those of former ones, so that no thread takes its stream for one of this recording.
int recorder::join(const char* partial, bool places_frees) noexcept {
    const visit here;
    start_process();
    if (image_.state == recording_on) return EBUSY;
    switch (preload::redirection::look_up()) {
        case preload::redirection::no_malloc:
            return no_malloc;
        case preload::redirection::own_malloc:
            return own_malloc;
        case preload::redirection::ready:
            break;
    }
    if (strlen(partial) >= sizeof image_.partial.path) return ENAMETOOLONG;
    auto* const fresh = preload::take_pages<process>(sizeof(process));
    if (fresh == nullptr) return ENOMEM;
    thread_.starting = true;
    strcpy(image_.partial.path, partial);
    new (fresh) process();
    int error = fresh->out.open(image_.partial);
    if (error == 0) {
        preload::real::is_libc();  // before anything is recorded: the look-up may allocate
        if (!image_.is_prepared) {
            image_.facts.gather();
            prepare_image();
        }
        image_.places_frees = places_frees;
        fresh->number = now_->number;
        fresh->out.settle();
        const std::uint32_t asleep = (image_.left_turn + 1) | std::uint32_t{mpt_asleep};
        __atomic_store_n(&fresh->out.shared().turn, asleep, __ATOMIC_RELEASE);
        __atomic_store_n(&now_, fresh, __ATOMIC_SEQ_CST);
        __atomic_store_n(&millpond_turn, &fresh->out.shared().turn, __ATOMIC_SEQ_CST);
        __atomic_store_n(&image_.state, recording_on, __ATOMIC_RELEASE);
    } else {
        preload::give_pages(fresh, sizeof(process));
    }
    thread_.starting = false;
    return error;
}

bool recorder::is_at_rest() noexcept { return image_.state != recording_on || is_asleep(turn()); }

bool recorder::leave() noexcept {
    if (image_.state != recording_on) return true;
    if (!is_asleep(turn())) return false;
    mpt_slot_file* const file = &now_->out.shared();
    image_.left_turn = turn() | std::uint32_t{mpt_asleep};
    image_.state = off;
    millpond_turn = &always_asleep;
    process* const last = now_;
    last->former = image_.former;
    image_.former = nullptr;
    now_ = &first_;
    for (process* p = last; p != nullptr;) {
        process* const next = p->former;
        p->by_thread.take_all([](stream& s) { stream::forget(&s); });
        dispose(*p);
        p = next;
    }
    thread_.own = nullptr;
    system_call(SYS_munmap, file, os::pages::size());
    return true;
}

// Releases the rest of the parent's state, unless a hook is at work in it.
void recorder::begin_child() noexcept {
    process* const parent = now_;
    auto* const fresh = preload::take_pages<process>(sizeof(process));
    if (fresh == nullptr) {
        parent->out.refuse(static_cast<std::uint64_t>(system_call(SYS_getpid)), ENOMEM);
        image_.state = off;
        return;
    }
    now_ = new (fresh) process();
    now_->out.inherit(parent->out);
    stream* const own = thread_.process_number == parent->number && !is_left(thread_.turn) ? thread_.own : nullptr;
    thread_.own = nullptr;
    thread_.attached = false;
    image_.turn_lock = {};
    image_.former = nullptr;
    parent->out.retire();
    if (thread_.busy == nullptr && !image_.was_forked_in_hook) {
        if (own != nullptr) stream::forget(own);
        if (parent->late != nullptr) stream::forget(parent->late);
        parent->described.abandon();
        parent->out.abandon();
        parent->space.clear();
        if (parent != &first_) preload::give_pages(parent, sizeof(process));
    }
    const std::uint32_t now = turn();
    if (is_asleep(now)) {  // again: a later stretch begins this process
        image_.was_forked_in_hook = false;
        return;
    }
    if (!begin_process(*now_, now)) {
        image_.state = off;
        return;
    }
    attach();
    // The event during which the fork happened is lost if the child continued with it.
    if (image_.was_forked_in_hook) now_->out.lose(mpt_lost_fork);
    image_.was_forked_in_hook = false;
}

bool recorder::begin_process(process& p, std::uint32_t turn) noexcept {
    if (!p.out.start(static_cast<std::uint64_t>(system_call(SYS_getpid)), turn)) return false;
    if (!p.described.start(p.out, image_.facts)) {
        p.out.stop(ENOMEM);
        return false;
    }
    p.space.tree.set_observer(&on_new_context);
    p.turn = turn;
    // A stretch that has ended meanwhile may have its trace already.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (recorder::turn() != turn) __atomic_store_n(&p.out.count().finished, 1, __ATOMIC_RELAXED);
    return true;
}

// Only if a handler has forked inside a hook: that hook's further writes stay in this process.
void recorder::after_fork_in_child() noexcept {
    if (thread_.busy == nullptr || image_.state != recording_on) return;
    image_.was_forked_in_hook = true;
    thread_.busy->isolate();
    now_->described.isolate();
    now_->out.isolate();
}

void recorder::before_filter() noexcept {
    const visit here;
    if (millpond_probes_stop != nullptr) millpond_probes_stop();
    if (is_recording() || start_process()) now_->out.map_ahead(ahead_bytes_usual);
    image_.restricted_pid = static_cast<std::uint64_t>(system_call(SYS_getpid));
}

void recorder::exiting() noexcept {
    const visit here;
    if (!is_recording()) return;
    now_->out.count().exited = 1;
    if (thread_.own != nullptr && thread_.busy == nullptr) {
        const hold s(now_->turn);
        if (s) s->note_cpu();
    }
    // Tells for each module whether it has a malloc of its own. Found before the lock is taken, because the dynamic
    // linker has locks, too.
    struct modules {
        std::uintptr_t begin[1024];
        unsigned count;
    };
    auto* const loaded = preload::take_pages<modules>(sizeof(modules));
    if (loaded == nullptr) return;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            auto& all = *static_cast<modules*>(to);
            for (unsigned i = 0; i < info->dlpi_phnum && all.count < std::size(all.begin); ++i) {
                if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
                all.begin[all.count++] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
                break;
            }
            return 0;
        },
        loaded);
    {
        const preload::patient_guard guard(now_->space.tree.lock());
        if (guard) now_->described.note_modules(loaded->begin, loaded->count);
    }
    preload::give_pages(loaded, sizeof(modules));
    wait_for_scan(*now_);
}

// Waits until millpond-record has looked through the memory of this process (scan_server.hpp).
[[gnu::noinline]] void recorder::wait_for_scan(process& p) noexcept {
    if (p.out.shared().scans == 0 || p.out.is_mapped_ahead() || image_.facts.filtered) return;
    constexpr time_t answer_seconds = 5, end_seconds = 60;
    __builtin_unwind_init();  // what the program's registers hold lies on the stack then
    p.out.count().own_memory = reinterpret_cast<std::uintptr_t>(p.space.pages.latest_region());
    std::uint32_t* const state = &p.out.count().scan;
    std::uint32_t* const requests = &p.out.shared().scan_requests;
    struct timespec end{};
    const auto wait_while = [&](std::uint32_t seen) {
        long result = 0;
        while (__atomic_load_n(state, __ATOMIC_SEQ_CST) == seen &&
               (result == 0 || result == -EINTR || result == -EAGAIN))
            result = system_call(SYS_futex, state, FUTEX_WAIT_BITSET, seen, &end, nullptr, FUTEX_BITSET_MATCH_ANY);
        // If it is still the same, the time is up, or waiting is impossible.
        return !__atomic_compare_exchange_n(state, &seen, std::uint32_t{mpt_scan_given_up}, false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST);
    };
    __atomic_store_n(state, std::uint32_t{mpt_scan_wanted}, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(requests, 1, __ATOMIC_SEQ_CST);
    system_call(SYS_futex, requests, FUTEX_WAKE, INT_MAX);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const time_t begin = end.tv_sec;
    end.tv_sec = begin + answer_seconds;
    if (!wait_while(mpt_scan_wanted)) return;
    end.tv_sec = begin + end_seconds;
    (void)wait_while(mpt_scan_begun);
}

void recorder::after_unload() noexcept {
    const visit here;
    if (!is_recording()) return;
    process& p = *now_;
    struct range {
        std::uintptr_t first, last;
    };
    constexpr unsigned ranges_max = 64;
    range gone[ranges_max];
    unsigned count = 0;
    {
        const preload::spin_guard guard(p.space.tree.lock());
        p.described.check_unloaded([&](std::uintptr_t first, std::uintptr_t last) {
            if (count < ranges_max) gone[count++] = {first, last};
        });
    }
    for (unsigned i = 0; i < count; ++i) p.space.forget(gone[i].first, gone[i].last);
}

template <class Call>
[[gnu::always_inline]] inline void* recorder::record_allocation(unsigned flags, std::size_t bytes,
                                                                std::size_t alignment, const preload::call_site& site,
                                                                const Call& call, bool has_registers) noexcept {
    watch(site);
    const hold s(turn());
    if (!s) [[unlikely]]
        return call();
    if (has_registers && preload::caller_words::are_kept()) [[unlikely]]
        s->sample_words(site);
    const unsigned alignment_log2 = alignment == 0 ? 0 : static_cast<unsigned>(std::countr_zero(alignment));
    if (s->time_this()) [[unlikely]] {
        const std::uint64_t in = ticks();
        void* const p = call();
        const std::uint64_t done = ticks();
        if (p != nullptr) {
            const std::uint64_t duration = done - in > image_.clock_ticks ? done - in - image_.clock_ticks : 1;
            s->allocated(mpt_allocate, flags, p, bytes, alignment_log2, site, done, duration);
        } else {
            s->failed();
        }
        s->timed(ticks() - done);
        return p;
    }
    void* const p = call();
    if (p != nullptr) [[likely]]
        s->allocated(mpt_allocate, flags, p, bytes, alignment_log2, site, s->stamp(), 0);
    else
        s->failed();
    return p;
}

void* recorder::allocate(std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(0, bytes, 0, site, [=] { return preload::real::allocate(bytes); }, true);
}

void* recorder::allocate_zeroed(std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(mpt_zeroed, bytes, 0, site, [=] { return preload::real::allocate_zeroed(bytes); });
}

void* recorder::allocate_aligned(std::size_t alignment, std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(0, bytes, alignment, site,
                             [=] { return preload::real::allocate_aligned(alignment, bytes); });
}

void* recorder::reallocate(void* old, std::size_t bytes, const preload::call_site& site, realloc_parts parts) noexcept {
    watch(site);
    const hold s(turn());
    if (!s) [[unlikely]]
        return preload::real::reallocate(old, bytes);
    const bool timed = s->time_this();
    const std::uint64_t before = timed ? ticks() : s->stamp();
    void* const p = preload::real::reallocate(old, bytes);
    if (parts.ends && (p != nullptr || bytes == 0)) s->freed(mpt_realloc_free, old, before, 0);
    if (p != nullptr && parts.begins) {
        const std::uint64_t after = timed ? ticks() : s->stamp();
        const std::uint64_t duration = !timed                                ? 0
                                       : after - before > image_.clock_ticks ? after - before - image_.clock_ticks
                                                                             : 1;
        s->allocated(mpt_realloc_allocate, 0, p, bytes, 0, site, after, duration);
        if (timed) s->timed(ticks() - after);
    } else {
        if (p == nullptr) s->failed();
        if (timed) s->timed(0);
    }
    return p;
}

void recorder::deallocate(void* p, const preload::call_site& site) noexcept {
    watch(site);
    const hold s(turn());
    if (!s) [[unlikely]]
        return preload::real::deallocate(p);
    if (s->time_this()) [[unlikely]] {
        const std::uint64_t before = ticks();
        preload::real::deallocate(p);
        const std::uint64_t done = ticks();
        if (image_.places_frees) s->place_frees(site);
        s->freed(mpt_free, p, before, done - before > image_.clock_ticks ? done - before - image_.clock_ticks : 1);
        s->timed(ticks() - done);
        return;
    }
    if (image_.places_frees) [[unlikely]]
        s->place_frees(site);
    s->freed(mpt_free, p, s->stamp(), 0);
    preload::real::deallocate(p);
}

}  // namespace millpond::record

constinit const std::uint32_t* millpond_turn = &millpond::record::always_awake;
