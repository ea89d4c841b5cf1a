// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/call_assembly.hpp"

#include <string>
#include <utility>

#include "lab/references/heap_functions.h"

namespace millpond::layout {

bool may_start_a_thread(const allocator_call& call, const trace::reader& trace) {
    if (call.is_early || millpond_shape_of(call.function()) != millpond_shape_calloc) return false;
    if (call.context >= trace.contexts().size()) return false;
    const std::uint32_t module = trace.contexts()[call.context].module;
    if (module == 0 || module > trace.modules().size()) return false;
    return trace.modules()[module - 1].path.find("/ld-linux") != std::string::npos;
}

std::optional<allocator_call> call_assembly::ended_before(const references::step& next) {
    if (!closing_) return std::nullopt;
    if (next.references.empty() && next.instructions == 0) {
        const millpond_record record = next.event.record;
        const bool goes_on = record == millpond_record_none || record == millpond_record_allocate ||
                             (record == millpond_record_free && !closing_->frees);
        if (goes_on) return std::nullopt;
    }
    return std::exchange(closing_, std::nullopt);
}

std::optional<allocator_call> call_assembly::ended_at_last() { return std::exchange(closing_, std::nullopt); }

allocator_call* call_assembly::open_of(std::uint64_t thread) {
    const auto known = threads_.find(thread);
    return known == threads_.end() || !known->second.open ? nullptr : &*known->second.open;
}

void call_assembly::resume(thread_calls& calls, bool in_allocator) {
    calls.open.reset();
    while (!calls.suspended.empty()) {
        calls.open = calls.suspended.back();
        calls.suspended.pop_back();
        if (calls.open.has_value() == in_allocator) return;
    }
    calls.open.reset();
}

std::optional<allocator_call> call_assembly::take(std::uint64_t thread, const references::stream_event& event) {
    thread_calls& calls = threads_[thread];
    switch (event.record) {
        case millpond_record_enter:
            calls.open = allocator_call{};
            calls.open->thread = thread << 32 | calls.lives;
            calls.open->is_early = is_early_;
            calls.open->entry = event.operands[0];
            break;
        case millpond_record_leave:
            closing_ = std::exchange(calls.open, std::nullopt);
            break;
        case millpond_record_allocate:
            if (!closing_) break;  // the recording began inside this call
            closing_->allocates = true;
            closing_->address = event.operands[0];
            closing_->bytes = event.operands[1];
            closing_->context = event.operands[2];
            closing_->flags = event.operands[3];
            return std::exchange(closing_, std::nullopt);
        case millpond_record_signal:
            if (event.operands[0] == 0) {  // the end of the thread
                calls = {calls.lives + 1, std::nullopt, {}};
                break;
            }
            if (calls.suspended.size() == suspended_max) calls.suspended.erase(calls.suspended.begin());
            calls.suspended.push_back(std::exchange(calls.open, std::nullopt));
            break;
        case millpond_record_gap:
            if (event.operands[0] == 0) is_early_ = false;
            break;
        case millpond_record_resume:
            resume(calls, event.operands[0] != 0);
            break;
        default:
            break;
    }
    return std::nullopt;
}

}  // namespace millpond::layout
