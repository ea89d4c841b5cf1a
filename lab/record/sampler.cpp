// SPDX-License-Identifier: BSL-1.0
#include "lab/record/sampler.hpp"

#include "preload/fork_mark.hpp"
#include "preload/machine.hpp"

namespace millpond::record {

constinit followed_blocks sampler::followed_;
constinit std::uint64_t sampler::threads_ = 0;
constinit thread_local sampler::per_thread sampler::thread_;

// Two threads, or a process and its child, that drew the same numbers would choose the same allocations of equal loops.
void sampler::begin_thread(const sample_request& request) noexcept {
    thread_.process_number = preload::fork_mark::number();
    thread_.recording = request.recording;
    const std::uint64_t number = __atomic_add_fetch(&threads_, 1, __ATOMIC_RELAXED);
    const std::uint64_t seed = request.seed != 0 ? request.seed : preload::machine::ticks();
    thread_.countdown.begin(seed + number * 0xD1B54A32D192ED03u + static_cast<std::uint64_t>(thread_.process_number),
                            request.bytes);
}

bool sampler::chooses(std::size_t bytes) noexcept {
    const sample_request request = recorder::sampling();
    if (request.bytes == 0) return false;  // this thread begins the recording just now
    if (!thread_.countdown.has_begun() || thread_.process_number != preload::fork_mark::number() ||
        thread_.recording != request.recording)
        begin_thread(request);
    return thread_.countdown.chooses(bytes, request.bytes) && !recorder::is_asleep();
}

// Without a place for its address the block's free would be missed: that is one event less in the trace.
void* sampler::follow(void* p) noexcept {
    if (p != nullptr && !followed_.insert(p, recorder::may_map())) recorder::lose();
    return p;
}

void* sampler::allocate(std::size_t bytes, const call_site& site) noexcept {
    if (!chooses(bytes)) return preload::real::allocate(bytes);
    return follow(recorder::allocate(bytes, site));
}

void* sampler::allocate_zeroed(std::size_t bytes, const call_site& site) noexcept {
    if (!chooses(bytes)) return preload::real::allocate_zeroed(bytes);
    return follow(recorder::allocate_zeroed(bytes, site));
}

void* sampler::allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept {
    if (!chooses(bytes)) return preload::real::allocate_aligned(alignment, bytes);
    return follow(recorder::allocate_aligned(alignment, bytes, site));
}

void* sampler::reallocate(void* old, std::size_t bytes, const call_site& site) noexcept {
    const bool ends = followed_.remove(old), begins = chooses(bytes);
    if (!ends && !begins) return preload::real::reallocate(old, bytes);
    void* const p = recorder::reallocate(old, bytes, site, {ends, begins});
    if (ends && p == nullptr && bytes != 0) follow(old);  // it is as it was
    return begins ? follow(p) : p;
}

void sampler::deallocate(void* p, const call_site& site) noexcept {
    if (!followed_.remove(p)) return preload::real::deallocate(p);
    recorder::deallocate(p, site);
}

int sampler::join(const char* partial, bool places_frees) noexcept {
    if (recorder::is_at_rest()) followed_.clear();
    return recorder::join(partial, places_frees);
}

}  // namespace millpond::record
