// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/pool_cache.hpp"

#include <errno.h>
#include <pthread.h>

#include "preload/pages.hpp"
#include "preload/thread_register.hpp"

namespace millpond::trial {
namespace {

using preload::holder_lock;

pthread_key_t thread_end;
std::size_t pool_count = 0;
all_pool_counters* private_counters = nullptr;
constinit holder_lock spare_lock;
constinit thread_caches* spare_caches = nullptr;
constinit preload::thread_register<thread_caches> caches_in_use;

}  // namespace

bool thread_caches::start(std::size_t pools, all_pool_counters* counters) noexcept {
    pool_count = pools;
    private_counters = counters;
    return pthread_key_create(&thread_end, &end_thread) == 0;
}

thread_caches* thread_caches::take() noexcept {
    if (life_ != fresh) return nullptr;
    life_ = starting;  // pthread_setspecific's own allocations go to the program's allocator
    const int before = errno;
    thread_caches* its = nullptr;
    if (const holder_lock::thread_id self = preload::thread_cache::this_thread(); spare_lock.lock(self)) {
        its = find_or_map(self);
        if (its != nullptr) caches_in_use.add(*its, self);
        spare_lock.unlock();
    }
    const bool is_told = its != nullptr && pthread_setspecific(thread_end, its) == 0;
    errno = before;
    current_ = its;
    life_ = its == nullptr ? fresh : is_told ? started : ending;
    return its;
}

// Call with the lock held. Caches left by an earlier thread on this stack are used as they are.
thread_caches* thread_caches::find_or_map(holder_lock::thread_id self) noexcept {
    if (thread_caches* const left = caches_in_use.remove(self); left != nullptr) return left;
    thread_caches* const spare = spare_caches;
    if (spare == nullptr)
        return preload::take_pages<thread_caches>(sizeof(thread_caches) + (pool_count - 1) * sizeof(place));
    spare_caches = spare->register_next;
    return spare;
}

// The destructors of other keys come after ours in the first round and free their blocks, so ours acts in the second
// round. A value of another thread was left by an earlier thread on this stack, after its destructors.
void thread_caches::end_thread(void* its) noexcept {
    if (its != current_) return;
    if (life_ == started && pthread_setspecific(thread_end, its) == 0) {
        life_ = ending;
        return;
    }
    life_ = ended;
    current_ = nullptr;
    auto* const caches = static_cast<thread_caches*>(its);
    for (std::size_t i = 0; i < pool_count; ++i) {
        place& each = caches->places_[i];
        if (each.state == made) each.cache()->flush();
    }
    const holder_lock::thread_id self = preload::thread_cache::this_thread();
    if (!spare_lock.lock(self)) return;
    if (caches_in_use.remove(self) != nullptr) {
        caches->register_next = spare_caches;
        spare_caches = caches;
    }
    spare_lock.unlock();
}

void thread_caches::flush_this_thread() noexcept {
    if (current_ == nullptr) return;
    for (std::size_t i = 0; i < pool_count; ++i) {
        place& each = current_->places_[i];
        if (each.state == made) each.cache()->flush();
    }
}

cache_counters* thread_caches::claim_line(std::size_t pool) noexcept {
    // A child inherits the claims: lines of threads that it does not have stay claimed.
    for (cache_counters& each : private_counters->caches) {
        if (__atomic_exchange_n(&each.claimed, 1, __ATOMIC_RELAXED) != 0) continue;
        each.pool = static_cast<std::uint32_t>(pool + 1);
        counters_of_process(&each).pool = each.pool;
        return &each;
    }
    return nullptr;
}

bool thread_caches::make(place& at, std::size_t index, preload::block_depot& depot) noexcept {
    if (at.state != empty) return false;
    at.state = in_the_making;
    new (at.memory) pool_cache(depot, claim_line(index), private_counters->pools + index);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    at.state = made;
    return true;
}

void thread_caches::retire_unless_held_by(holder_lock::thread_id survivor) noexcept {
    spare_lock.retire_unless_held_by(survivor);
    caches_in_use.clear();  // caches of threads that the child lacks may be half-changed
}

void thread_caches::report_inherited() noexcept {
    if (private_counters == nullptr) return;
    for (cache_counters& each : private_counters->caches) {
        cache_counters& to = counters_of_process(&each);
        if (each.claimed == 0 || &to == &each) continue;
        to.pool = each.pool;
        to.allocations += each.allocations;
        to.deallocations += each.deallocations;
        each.allocations = each.deallocations = 0;
    }
}

}  // namespace millpond::trial
