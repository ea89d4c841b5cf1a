// SPDX-License-Identifier: BSL-1.0
#include "lab/record/recorder.hpp"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <bit>

#include "lab/record/system.hpp"
#include "preload/pages.hpp"

extern "C" char** environ;

namespace millpond::record {
namespace {

output out;
description described;
constinit preload::context_space space{};
int state = 0;                  // recorder::states
std::uint32_t streams = 0;      // numbers given so far
std::uint64_t clock_ticks = 0;  // what two readings of the clock cost at least
pthread_key_t thread_end;
bool has_thread_end = false;

stream* late = nullptr;  // for events that have no stream of their own
preload::spin_lock late_lock;
preload::spin_lock start_lock;

// The value of our variable, also before the C library has set environ. Empty if there is none.
void find_directory(char* to, std::size_t room) noexcept {
    constexpr std::size_t name_length = sizeof variable - 1;
    to[0] = 0;
    const auto take = [&](const char* line) {
        if (strncmp(line, variable, name_length) != 0 || line[name_length] != '=') return false;
        const char* const value = line + name_length + 1;
        if (strlen(value) < room) strcpy(to, value);
        return true;
    };
    if (environ != nullptr) {
        for (char** line = environ; *line != nullptr; ++line)
            if (take(*line)) return;
        return;
    }
    constexpr std::size_t environment_bytes = std::size_t{2} << 20;
    auto* const text = preload::take_pages<char>(environment_bytes);
    if (text == nullptr) return;
    const std::size_t size = file("/proc/self/environ", O_RDONLY).read(text, environment_bytes - 1);
    for (const char* at = text; at < text + size && !take(at); at += strlen(at) + 1) {
    }
    preload::give_pages(text, environment_bytes);
}

}  // namespace

thread_local recorder::per_thread recorder::thread_ = {nullptr, false};

// The late stream is held under its lock; a handler that interrupted its holder on the same thread must not wait for
// itself.
class recorder::hold {
  public:
    [[gnu::always_inline]] hold() noexcept : stream_(thread_.own), own_(stream_ != nullptr) {
        if (own_) [[likely]]
            thread_.own = nullptr;
        else
            stream_ = slow_stream();
        __asm__ volatile("" ::: "memory");
    }
    [[gnu::always_inline]] ~hold() {
        __asm__ volatile("" ::: "memory");
        if (own_) [[likely]]
            thread_.own = stream_;
        else if (stream_ != nullptr && stream_ != late)
            thread_.own = stream_;
        else if (stream_ != nullptr)
            late_lock.unlock();
    }
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    stream* operator->() const noexcept { return stream_; }
    explicit operator bool() const noexcept { return stream_ != nullptr; }

  private:
    stream* stream_;
    bool own_;
};

stream* recorder::slow_stream() noexcept {
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == not_started) start();
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != recording_on) return nullptr;
    attach();
    if (stream* const s = thread_.own) {
        thread_.own = nullptr;
        return s;
    }
    constexpr int tries = 100000;
    for (int i = 0; i < tries; ++i) {
        if (late != nullptr && late_lock.try_lock()) return late;
        __builtin_ia32_pause();
    }
    __atomic_add_fetch(&out.count().events_lost, 1, __ATOMIC_RELAXED);
    return nullptr;
}

void recorder::attach() noexcept {
    if (thread_.attached) return;
    thread_.attached = true;  // first, so that what attaching allocates goes to the late stream
    stream* const s = stream::create(out, space, __atomic_add_fetch(&streams, 1, __ATOMIC_RELAXED));
    if (s != nullptr && has_thread_end) pthread_setspecific(thread_end, reinterpret_cast<void*>(std::uintptr_t{1}));
    thread_.own = s;
}

// At a thread's end, in the last round of destructors, so that other destructors' events come before.
void recorder::detach(void* round) noexcept {
    const auto rounds = reinterpret_cast<std::uintptr_t>(round);
    if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(thread_end, reinterpret_cast<void*>(rounds + 1));
        return;
    }
    stream* const s = thread_.own;
    thread_.own = nullptr;
    if (s != nullptr && __atomic_load_n(&state, __ATOMIC_ACQUIRE) == recording_on) stream::destroy(s, true);
}

void recorder::failed() noexcept {
    if (state == recording_on) __atomic_add_fetch(&out.count().allocations_failed, 1, __ATOMIC_RELAXED);
}

void recorder::on_new_context(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept {
    described.add_context(id, parent, return_address);
}

void recorder::start() noexcept {
    const preload::spin_guard guard(start_lock);
    if (state != not_started) return;
    __atomic_store_n(&state, int{starting}, __ATOMIC_RELEASE);
    begin();
    if (state == starting) __atomic_store_n(&state, int{off}, __ATOMIC_RELEASE);
}

void recorder::begin() noexcept {
    static char directory[4096];
    if (directory[0] == 0) find_directory(directory, sizeof directory);
    if (directory[0] == 0) return;
    preload::real::is_libc();  // before anything is recorded: the look-up may allocate
    if (!out.start(directory, static_cast<std::uint64_t>(system_call(SYS_getpid)))) return;
    if (!described.start(out)) return;
    space.tree.set_observer(&on_new_context);
    clock_ticks = ~std::uint64_t{0};
    for (int i = 0; i < 32; ++i) {
        const std::uint64_t first = ticks(), second = ticks();
        if (second - first < clock_ticks) clock_ticks = second - first;
    }
    if (!has_thread_end && pthread_key_create(&thread_end, &detach) == 0) {
        has_thread_end = true;
        pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    }
    late = stream::create(out, space, 0);
    if (late == nullptr) return;
    attach();  // at once: a program may lower its limits before its first event
    __atomic_store_n(&state, int{recording_on}, __ATOMIC_RELEASE);
}

void recorder::exiting() noexcept {
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == recording_on) out.count().exited = 1;
}

void recorder::after_unload() noexcept {
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != recording_on) return;
    struct range {
        std::uintptr_t first, last;
    };
    constexpr unsigned ranges_max = 64;
    range gone[ranges_max];
    unsigned count = 0;
    {
        const preload::spin_guard guard(space.tree.lock());
        described.check_unloaded([&](std::uintptr_t first, std::uintptr_t last) {
            if (count < ranges_max) gone[count++] = {first, last};
        });
    }
    for (unsigned i = 0; i < count; ++i) space.forget(gone[i].first, gone[i].last);
}

void recorder::before_fork() noexcept {
    start_lock.lock();
    late_lock.lock();
    space.tree.lock().lock();
    out.lock().lock();
}

void recorder::after_fork_in_parent() noexcept {
    out.lock().unlock();
    space.tree.lock().unlock();
    late_lock.unlock();
    start_lock.unlock();
}

// The parent's streams and files are the parent's. Nothing is created here: many children exec at once.
void recorder::after_fork_in_child() noexcept {
    after_fork_in_parent();
    if (state == recording_on) {
        if (thread_.own != nullptr) stream::forget(thread_.own);
        if (late != nullptr) stream::forget(late);
    }
    thread_ = {nullptr, false};
    late = nullptr;
    streams = 0;
    described.abandon();
    out.abandon();
    space.tree.clear();
    __atomic_add_fetch(&space.generation, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&state, int{not_started}, __ATOMIC_RELEASE);
}

template <class Call>
[[gnu::always_inline]] inline void* recorder::record_allocation(unsigned flags, std::size_t bytes,
                                                                std::size_t alignment, const preload::call_site& site,
                                                                const Call& call) noexcept {
    const hold s;
    if (!s) [[unlikely]]
        return call();
    const unsigned alignment_log2 = alignment == 0 ? 0 : static_cast<unsigned>(std::countr_zero(alignment));
    if (s->time_this()) [[unlikely]] {
        const std::uint64_t in = ticks();
        void* const p = call();
        const std::uint64_t done = ticks();
        if (p != nullptr) {
            const std::uint64_t took = done - in > clock_ticks ? done - in - clock_ticks : 1;
            s->allocated(mpt_allocate, flags, p, bytes, alignment_log2, site, done, took);
        } else {
            failed();
        }
        s->timed(ticks() - done);
        return p;
    }
    void* const p = call();
    if (p != nullptr) [[likely]]
        s->allocated(mpt_allocate, flags, p, bytes, alignment_log2, site, s->stamp(), 0);
    else
        failed();
    return p;
}

void* recorder::allocate(std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(0, bytes, 0, site, [=] { return preload::real::allocate(bytes); });
}

void* recorder::allocate_zeroed(std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(mpt_zeroed, bytes, 0, site, [=] { return preload::real::allocate_zeroed(bytes); });
}

void* recorder::allocate_aligned(std::size_t alignment, std::size_t bytes, const preload::call_site& site) noexcept {
    return record_allocation(0, bytes, alignment, site,
                             [=] { return preload::real::allocate_aligned(alignment, bytes); });
}

void* recorder::reallocate(void* old, std::size_t bytes, const preload::call_site& site) noexcept {
    const hold s;
    if (!s) [[unlikely]]
        return preload::real::reallocate(old, bytes);
    const bool timed = s->time_this();
    const std::uint64_t before = timed ? ticks() : s->stamp();
    void* const p = preload::real::reallocate(old, bytes);
    if (p != nullptr || bytes == 0) s->freed(mpt_realloc_free, old, before, 0);
    if (p != nullptr) {
        const std::uint64_t after = timed ? ticks() : s->stamp();
        const std::uint64_t took = !timed ? 0 : after - before > clock_ticks ? after - before - clock_ticks : 1;
        s->allocated(mpt_realloc_allocate, 0, p, bytes, 0, site, after, took);
        if (timed) s->timed(ticks() - after);
    } else {
        failed();
        if (timed) s->timed(0);
    }
    return p;
}

void recorder::deallocate(void* p) noexcept {
    const hold s;
    if (!s) [[unlikely]]
        return preload::real::deallocate(p);
    if (s->time_this()) [[unlikely]] {
        const std::uint64_t before = ticks();
        preload::real::deallocate(p);
        const std::uint64_t done = ticks();
        s->freed(mpt_free, p, before, done - before > clock_ticks ? done - before - clock_ticks : 1);
        s->timed(ticks() - done);
        return;
    }
    s->freed(mpt_free, p, s->stamp(), 0);
    preload::real::deallocate(p);
}

}  // namespace millpond::record
