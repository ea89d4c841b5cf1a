// SPDX-License-Identifier: BSL-1.0
#include "lab/pooled/pooled_malloc.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "preload/fork_mark.hpp"
#include "preload/pages.hpp"

namespace millpond::pooled {
namespace {

using preload::fork_mark;
using preload::holder_lock;
using preload::thread_cache;

constexpr std::size_t range_bytes_max = std::size_t{1} << 40;
constexpr std::size_t cache_page_bytes = 4096;

pthread_key_t thread_end;

// Caches whose threads have ended, and the page that new ones are made in.
union spare_cache {
    spare_cache* next;
    alignas(thread_cache) std::byte memory[sizeof(thread_cache)];
};
constinit holder_lock spare_lock;
constinit spare_cache* spare_caches = nullptr;
constinit spare_cache* page_next = nullptr;
constinit spare_cache* page_end = nullptr;

}  // namespace

void pooled_malloc::start() noexcept {
    const int before = errno;
    real::is_libc();
    if (space_.map.place(range_bytes_max) && pthread_key_create(&thread_end, &end_thread) == 0) {
        (void)fork_mark::claim();
        fork_mark::set();
        holder_lock::before_waiting = &adopt_if_child;
        is_active_ = true;
    }
    errno = before;
}

void* pooled_malloc::allocate_otherwise(std::size_t bytes) noexcept {
    if (bytes - 1 < classes::largest && thread_.life == thread_state::fresh && start_thread())
        return allocate_cached(bytes);
    return allocate_really(bytes);
}

void* pooled_malloc::allocate_really(std::size_t bytes) noexcept {
    if (void* const p = real::allocate(bytes)) [[likely]]
        return p;
    return allocate_wherever(bytes);
}

void* pooled_malloc::refill(unsigned size_class, std::size_t bytes) noexcept {
    const int before = errno;
    void* const p = thread_.cache->refill(size_class);
    leave();
    errno = before;
    return p != nullptr ? p : allocate_really(bytes);
}

// When the C library has no memory either: a block of any larger class. Or else a program that lives at its limit would
// fail here with much of its memory free in other sizes.
void* pooled_malloc::allocate_wherever(std::size_t bytes) noexcept {
    if (thread_.small_max == 0 || bytes > classes::largest) return nullptr;
    const int before = errno;
    void* p = nullptr;
    enter();
    for (unsigned each = classes::class_of(bytes); p == nullptr && each < classes::count; ++each)
        p = thread_.cache->take(each);
    leave();
    if (p != nullptr) errno = before;
    return p;
}

void* pooled_malloc::allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site&) noexcept {
    // A block of a class that is a multiple of the alignment is aligned by itself.
    const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!is_power || bytes - 1 >= classes::largest) return real::allocate_aligned(alignment, bytes);
    if (alignment <= 16) return allocate_small(bytes);
    const unsigned size_class = alignment <= classes::alignment_max ? classes::class_of(bytes, alignment) : 0;
    if (size_class == 0 || (thread_.life == thread_state::fresh && !start_thread()) || thread_.small_max == 0)
        return real::allocate_aligned(alignment, bytes);
    const int before = errno;
    enter();
    void* const p = thread_.cache->take(size_class);
    leave();
    errno = before;
    return p != nullptr ? p : real::allocate_aligned(alignment, bytes);
}

void* pooled_malloc::reallocate(void* old, std::size_t bytes, const call_site&) noexcept {
    const preload::slab_owner owner = space_.map.owner_of(old);
    if (owner.block_bytes == 0) return real::reallocate(old, bytes);
    const std::size_t held = owner.block_bytes;
    // A block that would be mostly empty is worth a move, unless it is small anyway.
    const bool fits = bytes <= held;
    if (fits && (bytes > held / 2 || held <= 128)) return old;
    void* const fresh = bytes - 1 < classes::largest ? allocate_small(bytes) : real::allocate(bytes);
    if (fresh == nullptr) return fits ? old : nullptr;
    memcpy(fresh, old, fits ? bytes : held);
    deallocate(old);
    return fresh;
}

void pooled_malloc::overflow(unsigned size_class, void* p) noexcept {
    const int before = errno;
    if (size_class != 0) thread_.cache->overflow(size_class, p);
    leave();
    errno = before;
    if (size_class == 0) real::deallocate(p);  // no block of anybody's: what that does is the provider's affair
}

void pooled_malloc::deallocate_otherwise(void* p) noexcept {
    const unsigned size_class = space_.map.class_at(p);
    if (size_class == 0) return real::deallocate(p);
    if (thread_.life == thread_state::fresh && start_thread()) {
        enter();
        overflow(size_class, p);
        return;
    }
    depot_.hand_over(p);
}

bool pooled_malloc::start_thread() noexcept {
    if (!is_active_) return false;
    const int before = errno;
    thread_.life = thread_state::starting;  // what pthread_setspecific allocates is the C library's
    thread_cache* const cache = take_cache();
    const bool is_told = cache != nullptr && pthread_setspecific(thread_end, cache) == 0;
    errno = before;
    if (cache == nullptr) {
        thread_.life = thread_state::fresh;
        return false;
    }
    thread_.cache = cache;
    thread_.life = is_told ? thread_state::started : thread_state::ending;
    leave();
    return true;
}

thread_cache* pooled_malloc::take_cache() noexcept {
    if (!spare_lock.lock(thread_cache::this_thread())) return nullptr;
    spare_cache* spare = spare_caches;
    if (spare != nullptr) {
        spare_caches = spare->next;
    } else {
        if (page_next == page_end) {
            page_next = preload::take_pages<spare_cache>(cache_page_bytes);
            page_end = page_next != nullptr ? page_next + cache_page_bytes / sizeof(spare_cache) : nullptr;
        }
        spare = page_next;
        if (spare != nullptr) ++page_next;
    }
    spare_lock.unlock();
    return spare != nullptr ? new (spare->memory) thread_cache(depot_) : nullptr;
}

// The destructors of other keys come after ours in the first round and free what they have: the second round is ours.
void pooled_malloc::end_thread(void* its_cache) noexcept {
    if (thread_.life == thread_state::started && pthread_setspecific(thread_end, its_cache) == 0) {
        thread_.life = thread_state::ending;
        return;
    }
    enter();
    thread_.life = thread_state::ended;
    const int before = errno;
    thread_.cache->flush();
    thread_.cache = nullptr;
    if (spare_lock.lock(thread_cache::this_thread())) {
        auto* const spare = static_cast<spare_cache*>(its_cache);
        spare->next = spare_caches;
        spare_caches = spare;
        spare_lock.unlock();
    }
    errno = before;
}

// Signals wait meanwhile, so that no handler of this thread finds it half-way; other threads wait for a few stores.
void pooled_malloc::adopt_if_child() noexcept {
    if (fork_mark::is_set()) return;
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    if (fork_mark::claim()) {
        // The thread that the child was copied with is its first; only if that one is at it are its own calls known.
        const bool is_first = syscall(SYS_gettid) == syscall(SYS_getpid);
        const holder_lock::thread_id survivor = is_first ? thread_cache::this_thread() : 0;
        spare_lock.retire_unless_held_by(survivor);
        space_.lock.retire_unless_held_by(survivor);
        depot_.retire_unless_held_by(survivor);
        fork_mark::set();
    } else {
        while (!fork_mark::is_set()) sched_yield();
    }
    pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

}  // namespace millpond::pooled
