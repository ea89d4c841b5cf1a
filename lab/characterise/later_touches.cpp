// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/later_touches.hpp"

#include <algorithm>

namespace millpond::characterise {
namespace {

// Combines a thread number with a count that tells apart the threads that had it.
std::uint64_t name_of(std::uint64_t thread, std::uint64_t life) { return life << 32 | thread; }

}  // namespace

later_touches::later_touches(const scope_tree& scopes, const std::vector<context_counts>& contexts,
                             const std::vector<left_object>& left)
    : scopes_(scopes), contexts_(contexts) {
    for (const left_object& one : left) {
        if (one.bytes == 0) continue;
        objects_.push_back({.object = one});
        first_ = std::min(first_, one.address);
        past_ = std::max(past_, one.address + one.bytes);
        const std::uint64_t pages = std::min<std::uint64_t>((one.bytes >> page_log2) + 2, pages_.size());
        for (std::uint64_t page = 0; page < pages; ++page) pages_[page_of(one.address + (page << page_log2))] = 1;
    }
    std::sort(objects_.begin(), objects_.end(),
              [](const watched_object& a, const watched_object& b) { return a.object.address < b.object.address; });
}

void later_touches::touch(std::uint64_t address) {
    const auto above =
        std::upper_bound(objects_.begin(), objects_.end(), address,
                         [](std::uint64_t at, const watched_object& each) { return at < each.object.address; });
    if (above == objects_.begin()) return;
    watched_object& one = *std::prev(above);
    if (!one.is_alive || address - one.object.address >= one.object.bytes) return;
    const thread_state& born_on = threads_[one.thread & 0xffff'ffff];
    const bool ended = one.thread >> 32 != born_on.life;
    one.thread_ended = one.thread_ended || ended;
    one.surviving = ended ? 0 : std::min(one.surviving, born_on.active.surviving(one.birth));
}

// If several objects begin at an address, the last one is left.
void later_touches::begin(const references::step& step) {
    const std::uint64_t address = step.event.operands[0];
    const auto context = static_cast<std::uint32_t>(step.event.operands[2]);
    thread_state& t = threads_[step.thread];
    if (context < contexts_.size()) t.active.enter(contexts_[context].scope, scopes_, clock_);
    const auto found =
        std::lower_bound(objects_.begin(), objects_.end(), address,
                         [](const watched_object& each, std::uint64_t at) { return each.object.address < at; });
    if (found == objects_.end() || found->object.address != address) return;
    found->is_alive = true;
    found->thread_ended = false;
    found->birth = clock_;
    found->thread = name_of(step.thread, t.life);
    found->surviving = contexts_[found->object.context].depth;
}

void later_touches::take(const references::step& step) {
    for (const millpond_reference& each : step.references)
        if (each.origin != millpond_of_allocator && may_be_in(each.address)) touch(each.address);
    if (step.event.record == millpond_record_allocate) begin(step);
    if (step.event.record == millpond_record_signal && step.event.operands[0] == 0) {
        thread_state& ended = threads_[step.thread];
        ended.active.leave_all();
        ++ended.life;
    }
}

std::vector<touched_object> later_touches::touched() const {
    std::vector<touched_object> all;
    for (const watched_object& one : objects_) {
        if (one.is_alive && (one.thread_ended || one.surviving < contexts_[one.object.context].depth))
            all.push_back({one.object, one.surviving, one.thread_ended});
    }
    return all;
}

}  // namespace millpond::characterise
