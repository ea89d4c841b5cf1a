// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/arena_pool.hpp"

#include <string.h>

#include <algorithm>
#include <new>

#include "lab/plan/arena_bound.hpp"
#include "preload/pages.hpp"

namespace millpond::trial {

using preload::slab_map;
using preload::slab_space;

void* arena_pool::allocate_otherwise(std::size_t bytes, std::size_t alignment, thread_id self) noexcept {
    if (shared_pool* const instead = __atomic_load_n(&instead_, __ATOMIC_ACQUIRE)) [[unlikely]]
        return instead->allocate(bytes, alignment);
    const bool observes_calls = __atomic_load_n(&observes_calls_, __ATOMIC_ACQUIRE);
    arena* const its = observes_calls ? of_innermost_call(self) : find_or_claim(self);
    if (its == nullptr || its->busy) return nullptr;
    at_hand_[id_] = its;
    const std::size_t room = rounded(bytes) + (alignment > granule ? alignment : 0);
    if (!has_room(*its, its->next, room)) {
        enter(*its);
        const bool found = next_chunk(*its, room);
        leave(*its);
        if (instead_ != nullptr) return instead_->allocate(bytes, alignment);
        if (!found) return nullptr;
    }
    return allocate(bytes, alignment, self, 0);
}

arena_pool::arena* arena_pool::find_or_claim(thread_id self) noexcept {
    arena* spare = nullptr;
    for (arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other) {
        const thread_id owner = __atomic_load_n(&each->owner, __ATOMIC_RELAXED);
        if (owner == self) return each;
        if (owner == no_thread) spare = each;
    }
    spare = claim(spare, self);
    if (spare != nullptr) spare->resets_when_empty = kind_ != pool_kind::thread_arenas;
    return spare;
}

// Estimates the arena's live bytes: its live blocks times the mean size of all blocks that it gave.
std::size_t arena_pool::live_bytes_of(const arena& its) noexcept {
    std::size_t used_bytes = 0;
    for (chunk* each = its.first; each != nullptr; each = each->next) {
        const char* const end = each == its.current ? std::min(its.next, its.end) : each->end();
        used_bytes += static_cast<std::size_t>(end - each->begin());
        if (each == its.current) break;
    }
    const auto live = static_cast<double>(live_blocks_of(its));
    return its.used_blocks == 0 ? 0
                                : static_cast<std::size_t>(static_cast<double>(used_bytes) * live /
                                                           static_cast<double>(its.used_blocks));
}

// Returns an arena for this thread: `spare` if it still has no owner, else a new one. Null: no memory.
arena_pool::arena* arena_pool::claim(arena* spare, thread_id self) noexcept {
    if (!lock_.lock(slab_space::this_thread())) return nullptr;
    if (spare != nullptr && __atomic_load_n(&spare->owner, __ATOMIC_ACQUIRE) == no_thread) {
        __atomic_store_n(&spare->owner, self, __ATOMIC_RELAXED);
    } else {
        spare = preload::take_pages<arena>(sizeof(arena));
        if (spare != nullptr) {
            new (spare) arena{.owner = self, .counted = {thread_caches::claim_line(id_), counters_}, .other = arenas_};
            __atomic_store_n(&arenas_, spare, __ATOMIC_RELEASE);
        }
    }
    lock_.unlock();
    if (spare == nullptr || spare->used_blocks == 0) return spare;
    enter(*spare);  // a signal handler finds it as this thread's arena
    if (is_empty(*spare)) reset(*spare);
    leave(*spare);
    return spare;
}

arena_pool::arena* arena_pool::of_innermost_call(thread_id self) const noexcept {
    for (arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other)
        if (__atomic_load_n(&each->owner, __ATOMIC_RELAXED) == self && each->serves) return each;
    return nullptr;
}

// Returns an empty arena whose call has ended: one of this thread's, or one of an ended thread's.
arena_pool::arena* arena_pool::take_for_call(thread_id self) noexcept {
    arena* spare = nullptr;
    for (arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other) {
        const thread_id owner = __atomic_load_n(&each->owner, __ATOMIC_RELAXED);
        if (owner == no_thread && is_empty(*each)) spare = each;
        if (owner != self || !each->resets_when_empty || each->busy || !is_empty(*each)) continue;
        if (each->used_blocks != 0) {
            enter(*each);
            reset(*each);
            leave(*each);
        }
        return each;
    }
    return is_bounded() ? claim(spare, self) : nullptr;
}

// Returns whether the pool may make another arena: the arenas together hold no more than the bound allows, and there
// are few enough to look through. An estimate: other threads may free meanwhile.
bool arena_pool::is_bounded() noexcept {
    std::size_t held_bytes = 0, live_bytes = 0, count = 0;
    for (const arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other) {
        held_bytes += each->held_bytes;
        live_bytes += live_bytes_of(*each);
        ++count;
    }
    if (count >= arenas_of_calls_max) return false;
    using bound = plan::arena_bound;
    if (held_bytes < bound::held_bytes_min || held_bytes <= bound::held_per_live_max * live_bytes) return true;
    become_shared(held_bytes, live_bytes);
    return false;
}

void arena_pool::begin_call(thread_id self, std::uintptr_t place, bool trapped) noexcept {
    if (!__atomic_load_n(&observes_calls_, __ATOMIC_ACQUIRE) || instead_ != nullptr) return;
    arena* const outer = of_innermost_call(self);
    if (outer != nullptr && kind_ == pool_kind::outermost_arenas) {
        ++outer->inner_calls;
        return;
    }
    arena* const its = take_for_call(self);
    if (its == nullptr) return stop_observing_calls();
    pool_counters& counted = counters_of_process(counters_);
    __atomic_fetch_add(&counted.calls, 1, __ATOMIC_RELAXED);
    if (trapped) __atomic_fetch_add(&counted.trapped_calls, 1, __ATOMIC_RELAXED);
    its->resets_when_empty = false;
    its->outer = outer;
    its->serves = true;
    its->return_address = preload::word_at(place);
    its->address_at = reinterpret_cast<const std::uintptr_t*>(place);
    its->place = place;
    if (outer != nullptr) outer->serves = false;
    at_hand_[id_] = its;
}

void arena_pool::end_call(thread_id self) noexcept {
    if (!__atomic_load_n(&observes_calls_, __ATOMIC_ACQUIRE)) return;
    arena* const its = of_innermost_call(self);
    if (its == nullptr) return;  // it began before calls were observed, or in the parent of this process
    if (its->inner_calls > 0) {
        --its->inner_calls;
        return;
    }
    if (its->outer != nullptr) its->outer->serves = true;
    at_hand_[id_] = its->outer;
    serve_no_call(*its);
    its->resets_when_empty = true;
    if (its->used_blocks == 0 || its->busy) return;
    if (!is_empty(*its)) {
        __atomic_fetch_add(&counters_of_process(counters_).outlived_calls, 1, __ATOMIC_RELAXED);
        return;
    }
    enter(*its);
    reset_and_leave(*its);
}

void arena_pool::stop_observing_calls() noexcept {
    if (!__atomic_exchange_n(&observes_calls_, false, __ATOMIC_ACQ_REL)) return;
    for (arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other)
        each->resets_when_empty = true;
}

// Other threads may have freed the last live block meanwhile.
bool arena_pool::next_chunk(arena& its, std::size_t needed) noexcept {
    if (its.current != nullptr && its.used_blocks != 0 && its.resets_when_empty && is_empty(its)) {
        reset(its);
        if (has_room(its, its.next, needed)) return true;
    }
    for (chunk* kept = its.current != nullptr ? its.current->next : nullptr; kept != nullptr; kept = kept->next) {
        begin_chunk(its, kept);
        if (has_room(its, its.next, needed)) return true;
    }
    const std::size_t live_bytes = live_bytes_of(its);
    using bound = plan::arena_bound;
    if (its.held_bytes >= bound::held_bytes_min && its.held_bytes > bound::held_per_live_max * live_bytes) {
        if (live_bytes == 0 && kind_ == pool_kind::thread_arenas) {
            reset(its);
            return has_room(its, its.next, needed);
        }
        become_shared(its.held_bytes, live_bytes);
        return false;
    }
    return add_chunk(its, needed);
}

bool arena_pool::add_chunk(arena& its, std::size_t needed) noexcept {
    std::size_t bytes = slab_map::slab_bytes;
    while (bytes < its.held_bytes && bytes < slab_map::extent_bytes_max) bytes *= 2;
    if (!lock_.lock(slab_space::this_thread())) return false;
    void* memory = slabs_.try_allocate_slab(bytes, slab_map::slab_bytes, block_bytes_mark);
    if (memory == nullptr && bytes > slab_map::slab_bytes) {
        bytes = slab_map::slab_bytes;
        memory = slabs_.try_allocate_slab(bytes, slab_map::slab_bytes, block_bytes_mark);
    }
    lock_.unlock();
    if (memory == nullptr) return false;
    auto* const fresh = static_cast<chunk*>(memory);
    fresh->of = &its;
    fresh->next = nullptr;
    fresh->bytes = bytes;
    memset(fresh->marks, 0, chunk::marks_bytes(bytes));
    for (std::size_t at = 0; at < bytes; at += slab_map::slab_bytes)
        *place_of(space_, static_cast<char*>(memory) + at) = {fresh, &its};
    (its.current != nullptr ? its.current->next : its.first) = fresh;
    its.held_bytes += bytes;
    begin_chunk(its, fresh);
    return has_room(its, its.next, needed);
}

void arena_pool::begin_chunk(arena& its, chunk* at) noexcept {
    its.current = at;
    its.next = at->begin();
    its.end = at->end();
}

// The last block of an ended thread's arena may be freed here. Owners change under the lock.
void arena_pool::free_elsewhere(arena& its) noexcept {
    __atomic_fetch_add(&counters_of_process(counters_).remote_deallocations, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&its.freed_by_others, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&its.owner, __ATOMIC_ACQUIRE) != no_thread || !is_empty(its)) return;
    if (!lock_.lock(slab_space::this_thread())) return;
    if (its.owner == no_thread && is_empty(its)) give_back(its);
    lock_.unlock();
}

void arena_pool::reset(arena& its) noexcept {
    for (chunk* each = its.first; each != nullptr; each = each->next) {
        const bool is_last = each == its.current;
        const std::size_t all = chunk::marks_bytes(each->bytes);
        memset(each->marks, 0, is_last ? std::min(all, each->index_of(its.next) / 8 + 8) : all);
        if (is_last) break;
    }
    forget_blocks(its);
    begin_chunk(its, its.first);
    if (__atomic_load_n(&instead_, __ATOMIC_RELAXED) == nullptr || !lock_.lock(slab_space::this_thread())) return;
    give_back(its);
    lock_.unlock();
}

void arena_pool::forget_blocks(arena& its) noexcept {
    __atomic_store_n(&its.freed_by_others, std::size_t{0}, __ATOMIC_RELAXED);
    its.used_blocks = its.freed_blocks = 0;
    __atomic_fetch_add(&counters_of_process(counters_).resets, 1, __ATOMIC_RELAXED);
}

// Call with the lock held.
void arena_pool::give_back(arena& its) noexcept {
    if (its.used_blocks != 0) forget_blocks(its);
    for (chunk* each = its.first; each != nullptr;) {
        chunk* const next = each->next;
        slabs_.deallocate(each, each->bytes, slab_map::slab_bytes);
        each = next;
    }
    its.first = its.current = nullptr;
    its.next = its.end = nullptr;
    its.held_bytes = 0;
}

void arena_pool::become_shared(std::size_t held_bytes, std::size_t live_bytes) noexcept {
    auto* const memory = preload::take_pages<shared_pool>(sizeof(shared_pool));
    if (memory == nullptr) return;
    shared_pool* seen = nullptr;
    shared_pool* const fresh = new (memory) shared_pool(space_, id_, huge_pages_, counters_);
    if (!__atomic_compare_exchange_n(&instead_, &seen, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        preload::give_pages(memory, sizeof(shared_pool));
        return;
    }
    pool_counters& to = counters_of_process(counters_);
    to.capped_bytes = held_bytes;
    to.capped_live_bytes = live_bytes;
}

void arena_pool::note_bytes(void* counters, std::size_t held, std::size_t) noexcept {
    counters_of_process(static_cast<pool_counters*>(counters)).arena_bytes = held;
}

void arena_pool::end_thread(thread_id ended) noexcept {
    at_hand_[id_] = nullptr;
    for (arena* each = __atomic_load_n(&arenas_, __ATOMIC_ACQUIRE); each != nullptr; each = each->other) {
        if (each->owner != ended) continue;
        serve_no_call(*each);
        // Sequentially consistent with the last free by another thread: one of the two sees the other's store.
        __atomic_store_n(&each->owner, no_thread, __ATOMIC_SEQ_CST);
        if (!is_empty(*each) || !lock_.lock(slab_space::this_thread())) continue;
        if (each->owner == no_thread && is_empty(*each)) give_back(*each);
        lock_.unlock();
    }
}

void arena_pool::retire_unless_of(thread_id survivor, thread_id lock_holder) noexcept {
    at_hand_[id_] = nullptr;
    lock_.retire_unless_held_by(lock_holder);
    if (instead_ != nullptr) instead_->retire_unless_held_by(lock_holder);
    for (arena* each = arenas_; each != nullptr; each = each->other) {
        if (each->owner != no_thread && each->owner != survivor) __atomic_store_n(&each->owner, gone, __ATOMIC_RELAXED);
        if (!each->serves && each->outer == nullptr) continue;
        // The child gets no end_call for a call that its parent began.
        serve_no_call(*each);
        each->resets_when_empty = true;
    }
}

}  // namespace millpond::trial
