// SPDX-License-Identifier: BSL-1.0
#include "lab/mallocs/pooled_malloc.hpp"

#include <errno.h>
#include <pthread.h>

#include <new>

#include "preload/adopt_if_child.hpp"
#include "preload/environment.hpp"
#include "preload/exit_statistics.hpp"
#include "preload/fork_mark.hpp"
#include "preload/pages.hpp"
#include "preload/thread_register.hpp"

namespace millpond::mallocs {
namespace {

using preload::fork_mark;
using preload::holder_lock;
using preload::thread_cache;

constexpr std::size_t range_bytes_max = std::size_t{1} << 40;
constexpr std::size_t cache_batch_bytes = 4096;

pthread_key_t thread_end;

constexpr std::size_t largest_run = preload::block_depot::largest_run;

// A block that would have to move to grow beyond this comes from the C library, which moves pages instead of bytes.
constexpr std::size_t growing_run_max = std::size_t{128} << 10;

bool is_a_run(std::size_t bytes) noexcept {
    return bytes > preload::cached_classes::largest_packed && bytes <= largest_run;
}

// Below this size, lists of outgrown blocks hold little memory.
constexpr std::size_t outgrown_bytes = 1024;

millpond::call_site as_checked(pooled_malloc::call_site site) noexcept {
    return millpond::call_site(reinterpret_cast<const void*>(site.return_address));
}

// The caches whose threads have ended, the caches in use, and the page in which new ones are made.
struct cache_place {
    alignas(thread_cache) std::byte memory[sizeof(thread_cache)];
    holder_lock::thread_id register_thread;
    cache_place* register_next;  // or of the next spare one
    thread_cache* cache() noexcept { return std::launder(reinterpret_cast<thread_cache*>(memory)); }
};
constinit holder_lock spare_lock;  // guards all of this
constinit cache_place* spare_caches = nullptr;
constinit preload::thread_register<cache_place> caches_in_use;
// The pages of caches; all of them stay.
struct cache_page {
    cache_page* before;
    cache_place caches[(cache_batch_bytes - alignof(cache_place)) / sizeof(cache_place)];
};
constexpr std::size_t caches_a_page = sizeof(cache_page::caches) / sizeof(cache_place);
static_assert(sizeof(cache_page) <= cache_batch_bytes);
constinit cache_page* last_page = nullptr;
constinit std::size_t page_used = caches_a_page;

}  // namespace

void pooled_malloc::start() noexcept {
    const int before = errno;
    real::is_libc();
    (void)fork_mark::claim();
    fork_mark::set();
    holder_lock::before_waiting = &adopt_if_child;
    const bool is_bound = real::provider_is_bound();
    if (is_bound) {
        checked_malloc::switch_off();
        real::say_bound(name);
    }
    is_active_ = !is_bound && !checked_malloc::is_on() && space_.map.place(range_bytes_max) &&
                 pthread_key_create(&thread_end, &end_thread) == 0;
    depot_.mix_slabs();
    if (is_active_) real::make_room = &make_room;
    errno = before;
}

void* pooled_malloc::allocate_otherwise(std::size_t bytes, call_site site) noexcept {
    if (checked_malloc::is_on()) [[unlikely]]
        return checked_malloc::allocate(bytes, 0, as_checked(site));
    if (bytes - 1 < classes::largest_packed && thread_.life == thread_state::fresh && start_thread())
        return allocate_cached(bytes);
    bool is_zero = false;
    if (void* const run = allocate_run(bytes, is_zero)) return run;
    return allocate_really(bytes);
}

void* pooled_malloc::allocate_run(std::size_t bytes, bool& is_zero, std::size_t alignment) noexcept {
    if (!is_active_ || !is_a_run(bytes)) return nullptr;
    const int before = errno;
    void* const run = depot_.take_run(bytes, thread_cache::this_thread(), is_zero, alignment);
    errno = before;
    return run;
}

void* pooled_malloc::allocate_zeroed_run(std::size_t bytes, call_site site) noexcept {
    if (checked_malloc::is_on()) [[unlikely]]
        return checked_malloc::allocate_zeroed(bytes, as_checked(site));
    bool is_zero = false;
    void* const run = allocate_run(bytes, is_zero);
    if (run == nullptr) return real::allocate_zeroed(bytes);
    return is_zero ? run : memset(run, 0, bytes);
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

// Called when the C library has no memory either: returns a block of any larger class. Otherwise a program near its
// memory limit would fail while blocks of other sizes are free.
void* pooled_malloc::allocate_wherever(std::size_t bytes) noexcept {
    if (thread_.small_max == 0 || bytes > classes::largest_packed) return nullptr;
    const int before = errno;
    void* p = nullptr;
    enter();
    for (unsigned each = classes::class_of(bytes); p == nullptr && each < classes::count; ++each)
        p = thread_.cache->take(each);
    leave();
    if (p != nullptr) errno = before;
    return p;
}

void* pooled_malloc::allocate_aligned(std::size_t alignment, std::size_t bytes, call_site site) noexcept {
    if (checked_malloc::is_on()) [[unlikely]]
        return checked_malloc::allocate(bytes, alignment, as_checked(site));
    // If a class is a multiple of the alignment, its blocks are aligned.
    const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (is_power && bytes > classes::largest_packed && alignment <= preload::slab_map::slab_bytes) {
        bool is_zero = false;
        if (void* const run = allocate_run(bytes, is_zero, alignment)) return run;
    }
    if (!is_power || bytes - 1 >= classes::largest_packed) return real::allocate_aligned(alignment, bytes);
    if (alignment <= 16) return allocate_small(bytes, site);
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

void* pooled_malloc::reallocate(void* old, std::size_t bytes, call_site site) noexcept {
    if (checked_malloc::is_on()) [[unlikely]]
        return checked_malloc::reallocate(old, bytes, as_checked(site));
    const preload::slab_owner owner = space_.map.owner_of(old);
    if (owner.block_bytes == 0) return real::reallocate(old, bytes);
    const bool is_run = owner.size_class == preload::block_depot::run_class;
    const std::size_t held = pooled_bytes(old, owner);
    // A block that would be mostly empty is moved, unless it is small.
    const bool fits = bytes <= held;
    if (fits && (bytes > held / 2 || held <= 128)) return old;
    if (!fits && is_run && bytes <= largest_run && grow_run(old, bytes)) return old;
    void* const fresh = allocate_elsewhere(bytes, fits, site);
    if (fresh == nullptr) return fits ? old : nullptr;
    memcpy(fresh, old, fits ? bytes : held);
    fits || is_run || held < outgrown_bytes ? deallocate(old) : put_outgrown(old);
    return fresh;
}

// A block that grows passes through many classes: a list in the cache would keep two blocks of each, and so a slab.
void pooled_malloc::put_outgrown(void* old) noexcept {
    if (thread_.small_max == 0) return deallocate_otherwise(old);
    const int before = errno;
    enter();
    put_alone(space_.map.class_at(old), old);
    leave();
    errno = before;
}

bool pooled_malloc::grow_run(void* run, std::size_t bytes) noexcept {
    const int before = errno;
    const bool has_grown = depot_.grow_run(run, bytes, thread_cache::this_thread());
    errno = before;
    return has_grown;
}

// A growing run gets a quarter more room.
void* pooled_malloc::allocate_elsewhere(std::size_t bytes, bool is_smaller, call_site site) noexcept {
    if (bytes - 1 < classes::largest_packed) return allocate_small(bytes, site);
    if (is_smaller) return allocate_otherwise(bytes, site);
    if (bytes > growing_run_max) return allocate_really(bytes);
    bool is_zero = false;
    if (void* const run = allocate_run(bytes + bytes / 4, is_zero)) return run;
    return allocate_otherwise(bytes, site);
}

void pooled_malloc::overflow(unsigned size_class, void* p) noexcept {
    const int before = errno;
    if (size_class == preload::block_depot::run_class) {
        depot_.put_run(p, thread_cache::this_thread());
    } else if (size_class != 0) {
        thread_.cache->overflow(size_class, p);
    }
    leave();
    errno = before;
    if (size_class == 0) real::deallocate(p);  // not one of our blocks: the provider decides what happens
}

void pooled_malloc::deallocate_otherwise(void* p) noexcept {
    const unsigned size_class = space_.map.class_at(p);
    if (size_class == 0) return real::deallocate(p);
    if (size_class == preload::block_depot::run_class) {
        const int before = errno;
        depot_.put_run(p, thread_cache::this_thread());
        errno = before;
        return;
    }
    if (thread_.life != thread_state::fresh) return depot_.hand_over(p);
    const int before = errno;
    put_alone(size_class, p);
    errno = before;
}

// A thread that frees does not start its cache: the C library frees in threads whose destructors have run.
void pooled_malloc::put_alone(unsigned size_class, void* p) noexcept {
    auto* const one = static_cast<preload::block_depot::block*>(p);
    one->next = nullptr;
    depot_.put(size_class, one, thread_cache::this_thread());
}

void pooled_malloc::deallocate_elsewhere(void* p) noexcept {
    if (checked_malloc::is_on()) [[unlikely]]
        return checked_malloc::deallocate(p, millpond::call_site(__builtin_return_address(0)));
    real::deallocate(p);
}

bool pooled_malloc::start_thread() noexcept {
    if (!is_active_) return false;
    const int before = errno;
    // Not in start: before the C library has started, reading the environment costs several system calls.
    static constinit bool has_decided = false;
    if (!__atomic_exchange_n(&has_decided, true, __ATOMIC_RELAXED) && preload::is_switched_on("MILLPOND_HUGE"))
        depot_.make_huge_pages();
    thread_.life = thread_state::starting;  // pthread_setspecific's own allocations go to the C library
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
    adopt_if_child();
    const holder_lock::thread_id self = thread_cache::this_thread();
    if (!spare_lock.lock(self)) return nullptr;
    // A cache left by an earlier thread with this state is used as it is.
    cache_place* place = caches_in_use.remove(self);
    const bool is_made = place != nullptr;
    if (place == nullptr && spare_caches != nullptr) {
        place = spare_caches;
        spare_caches = place->register_next;
    }
    if (place == nullptr && page_used == caches_a_page) {
        if (auto* const page = preload::take_pages<cache_page>(cache_batch_bytes); page != nullptr) {
            page->before = last_page;
            __atomic_store_n(&last_page, page, __ATOMIC_RELEASE);
            page_used = 0;
        }
    }
    if (place == nullptr && page_used != caches_a_page) place = &last_page->caches[page_used++];
    if (place != nullptr) {
        if (!is_made) new (place->memory) thread_cache(depot_);
        caches_in_use.add(*place, self);
    }
    spare_lock.unlock();
    return place != nullptr ? place->cache() : nullptr;
}

void pooled_malloc::leave_cache() noexcept {
    adopt_if_child();
    const holder_lock::thread_id self = thread_cache::this_thread();
    if (!spare_lock.lock(self)) return;
    if (cache_place* const place = caches_in_use.remove(self); place != nullptr) {
        place->register_next = spare_caches;
        spare_caches = place;
    }
    spare_lock.unlock();
}

// The destructors of other keys come after ours in the first round and free their blocks, so ours acts in the second
// round. A value of another thread was left by an earlier thread on this stack, after its destructors.
void pooled_malloc::end_thread(void* its_cache) noexcept {
    if (its_cache != thread_.cache) return;
    if (thread_.life == thread_state::started && pthread_setspecific(thread_end, its_cache) == 0) {
        thread_.life = thread_state::ending;
        return;
    }
    enter();
    thread_.life = thread_state::ended;
    const int before = errno;
    thread_.cache->flush();
    thread_.cache = nullptr;
    leave_cache();
    errno = before;
}

// Other threads' caches are read while they work: the lists there are numbers that are read atomically.
std::size_t pooled_malloc::cached_blocks(unsigned size_class) noexcept {
    std::size_t count = 0;
    for (const cache_page* page = __atomic_load_n(&last_page, __ATOMIC_ACQUIRE); page != nullptr; page = page->before)
        for (const cache_place& each : page->caches)
            count += reinterpret_cast<const thread_cache*>(each.memory)->blocks(size_class);
    return count;
}

classic::heap_record pooled_malloc::record() noexcept {
    classic::heap_record found = depot_.record(thread_cache::this_thread());
    for (unsigned each = 1; each < classes::count; ++each) {
        const std::size_t cached = cached_blocks(each), behind = depot_.freed_blocks(each);
        if (cached == 0 || cached > found.use.blocks) continue;
        found.use.blocks -= cached;
        found.use.block_bytes -= cached * classes::bytes_of(each);
        found.use.note(classes::bytes_of(each), true, cached);
        found.lists += behind == 0;
        if (cached + behind > found.longest_list) found.longest_list = cached + behind;
    }
    return found;
}

void pooled_malloc::say_statistics() noexcept {
    using preload::exit_statistics;
    if (!exit_statistics::are_wanted()) return;
    exit_statistics::say(name, record());
    for (unsigned each = 1; each < classes::count; ++each) {
        const std::size_t cached = cached_blocks(each), behind = depot_.freed_blocks(each);
        if (cached + behind != 0) exit_statistics::say_list(name, classes::bytes_of(each), cached, behind);
    }
}

void pooled_malloc::flush_cache() noexcept {
    if (thread_.small_max == 0) return;
    enter();
    thread_.cache->flush();
    leave();
}

bool pooled_malloc::make_room(std::size_t) noexcept {
    flush_cache();
    return depot_.give_up(thread_cache::this_thread());
}

bool pooled_malloc::trim() noexcept {
    const int before = errno;
    flush_cache();
    const bool is_less = depot_.trim(thread_cache::this_thread());
    errno = before;
    return is_less;
}

void pooled_malloc::adopt_if_child() noexcept {
    preload::adopt_if_child([](holder_lock::thread_id survivor) noexcept {
        spare_lock.retire_unless_held_by(survivor);
        caches_in_use.clear();  // caches of threads that the child lacks may be half-changed
        space_.lock.retire_unless_held_by(survivor);
        depot_.retire_unless_held_by(survivor);
        checked_malloc::retire_unless_held_by(survivor);
    });
}

}  // namespace millpond::mallocs
