// SPDX-License-Identifier: BSL-1.0
#include "lab/record/stream.hpp"

#include <time.h>

#include <new>

#include "lab/trace/seal.h"
#include "preload/pages.hpp"

namespace millpond::record {
namespace {

std::uint64_t thread_cpu_ns() noexcept {
    struct timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

stream* stream::create(output& out, preload::context_space& space, std::uint32_t number) noexcept {
    std::uint8_t* const slot = out.take_slot();
    void* const memory = slot == nullptr ? nullptr : preload::take_pages(sizeof(stream));
    if (memory == nullptr) {
        if (slot != nullptr) out.give_slot(slot);
        return nullptr;
    }
    return new (memory) stream(out, space, number, slot);
}

stream::stream(output& out, preload::context_space& space, std::uint32_t number, std::uint8_t* slot) noexcept
    : finder_(space), space_(space), out_(out), slot_(slot), random_(ticks() | 1), number_(number) {
    random_ ^= std::uint64_t{number} * 0x9E3779B97F4A7C15u;
    until_timed_ = random_up_to(2 * timed_interval - 1);
    until_check_ = random_up_to(2 * out_.shared().check_interval - 1);
    open_block();
}

void stream::forget(stream* s) noexcept {
    s->~stream();
    preload::give_pages(s, sizeof(stream));
}

void stream::destroy(stream* s, bool ended) noexcept {
    if (ended) mpt_write_note(&s->writer_, mpt_note_thread_end, 0, ticks());
    s->flush();
    s->out_.give_slot(s->slot_);
    forget(s);
}

void stream::open_block() noexcept {
    mpt_open_block(&writer_, slot_, mpt_slot_bytes, number_, sequence_++, ticks());
    auto* const header = reinterpret_cast<mpt_block_header*>(slot_);
    header->cpu_ns = thread_cpu_ns();  // in case this block is never closed
}

void stream::flush() noexcept {
    auto* const header = reinterpret_cast<mpt_block_header*>(slot_);
    header->cpu_ns = thread_cpu_ns();
    header->overhead_ticks = overhead_ticks_ > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(overhead_ticks_);
    overhead_ticks_ = 0;
    const std::uint32_t events = writer_.count;
    if (events != 0 && !out_.append(slot_, mpt_seal_block(header, events))) lost(events);
    open_block();
}

void stream::check(const preload::call_site& site, std::uint32_t context) noexcept {
    constexpr unsigned compared = 16;  // frames that must agree; the rest is counted apart
    until_check_ = random_up_to(2 * out_.shared().check_interval - 1);
    std::uintptr_t truth[2 * compared];
    const unsigned depth = preload::context_finder::walk_uncached(site, truth, 2 * compared);
    unsigned agreeing = 0;
    for (std::uint32_t id = context; agreeing < depth && id != 0; ++agreeing) {
        const preload::context_tree::node node = space_.tree.at(id);
        if (node.return_address != truth[agreeing]) break;
        id = node.parent;
    }
    counters& c = out_.count();
    __atomic_add_fetch(&c.aliasing_sampled, 1, __ATOMIC_RELAXED);
    if (agreeing < depth) __atomic_add_fetch(&c.aliasing_differed_deep, 1, __ATOMIC_RELAXED);
    if (agreeing < depth && agreeing < compared) __atomic_add_fetch(&c.aliasing_differed, 1, __ATOMIC_RELAXED);
}

}  // namespace millpond::record
