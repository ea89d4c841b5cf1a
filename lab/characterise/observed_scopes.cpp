// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/observed_scopes.hpp"

#include <algorithm>

namespace millpond::characterise {

const observed_function* observed_scopes::function(std::uint32_t id) const {
    const auto found = by_function_.find(id);
    return found == by_function_.end() ? nullptr : &found->second;
}

const observed_pair* observed_scopes::pair(std::uint32_t subsystem, std::uint32_t function) const {
    const auto found = pairs_.find({subsystem, function});
    return found == pairs_.end() ? nullptr : &found->second;
}

std::string observed_scopes::reason(const observed_function* function) {
    if (function == nullptr) return "no recording has observed it";
    switch (function->state) {
        case mpt_scope_observed:
            return {};
        case mpt_scope_too_often:
            return "it was entered more often than the limit of the recording";
        case mpt_scope_not_placed:
            return "no breakpoint can be written at its entry";
        case mpt_scope_no_return:
            return "it was entered without a call, or from a place where no breakpoint can be written";
        case mpt_scope_generated:
            return "it was called from generated code";
        case mpt_scope_other_stack:
            return "it ran on another stack than its thread's own";
        case mpt_scope_interrupted:
            return "it ran in a signal handler that interrupted the recorder, or past its thread's end";
        case mpt_scope_too_deep:
            return "too many of its calls ran at a time, or there was no memory for them";
        case mpt_scope_filtered:
            return "the program forbids itself system calls";
        case mpt_scope_shadow_stack:
            return "the process has a shadow stack";
        case mpt_scope_unloaded:
            return "its module, or that of a caller, was unloaded";
        case mpt_scope_no_walk:
            return "a stack within it cannot be walked: a function there has no call-frame information";
        case lost_events:
            return "events of the recording were lost";
        default:
            return "the recording says so, for a reason that this version does not know";
    }
}

observed_scopes::running& observed_scopes::thread(std::uint32_t number) {
    if (number >= threads_.size()) threads_.resize(number + 1);
    return threads_[number];
}

void observed_scopes::consume(const trace::event* batch, std::size_t count) {
    const auto end_of = [this](const object& o, std::uint64_t, trace::moment at, trace::ending) {
        ended(o, at.time_ticks, at.thread);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const trace::event& e = batch[i];
        if (e.op == trace::operation::note)
            note(e);
        else if (!any())
            continue;  // an ordinary recording
        else if (e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate)
            allocate(e);
        else
            live_.end(e.address, {e.time_ticks, e.thread}, end_of);
    }
}

void observed_scopes::note(const trace::event& e) {
    const std::uint64_t subject = e.bytes, value = e.address;
    if (subject == mpt_note_thread_end) {
        running& all = thread(e.thread);
        while (!all.empty()) leave(all);
        return;
    }
    if (subject < mpt_note_entered || subject > mpt_note_scope) return;
    const std::uint64_t node = subject == mpt_note_scope ? value >> 8 : value;
    if (node >= functions_.node_count()) return;
    const std::uint32_t function = functions_.function_of(static_cast<std::uint32_t>(node));
    if (function == symbols::context_functions::none) return;
    if (subject == mpt_note_scope) {
        observed_function& of = by_function_[function];
        if (of.state == mpt_scope_observed) of.state = value & 0xff;
    } else if (subject == mpt_note_entered) {
        enter(thread(e.thread), function);
    } else {
        running& all = thread(e.thread);
        const auto same = [&](const activation& a) { return a.function == function; };
        if (std::none_of(all.begin(), all.end(), same)) return;  // it began before the trace, in the parent of a child
        while (all.back().function != function) leave(all);
        leave(all);
    }
}

void observed_scopes::enter(running& thread, std::uint32_t function) {
    const std::uint32_t outer = thread.empty() ? 0 : thread.back().stack;
    const auto [known, is_new] =
        stack_of_.try_emplace(std::uint64_t{outer} << 32 | function, static_cast<std::uint32_t>(stacks_.size()));
    if (is_new) stacks_.push_back({outer, function, stacks_[outer].depth + 1});
    observed_function& of = by_function_[function];
    const auto depth = static_cast<std::uint64_t>(
        std::count_if(thread.begin(), thread.end(), [&](const activation& a) { return a.function == function; }));
    ++of.calls;
    if (depth == 0) ++of.activations;
    of.depth_max = std::max(of.depth_max, depth + 1);
    thread.push_back({function, known->second, ++clock_, {}});
}

// Bytes of an activation belong to the enclosing ones, too.
void observed_scopes::leave(running& thread) {
    const activation gone = std::move(thread.back());
    thread.pop_back();
    const auto same = [&](const activation& a) { return a.function == gone.function; };
    const bool outermost = std::none_of(thread.begin(), thread.end(), same);
    for (const auto& [subsystem, bytes] : gone.bytes) {
        if (outermost) pairs_[{subsystem, gone.function}].activation_bytes.add(bytes);
        if (thread.empty()) continue;
        auto& outer = thread.back().bytes;
        const auto mine = std::find_if(outer.begin(), outer.end(), [&](const auto& b) { return b.first == subsystem; });
        if (mine == outer.end())
            outer.emplace_back(subsystem, bytes);
        else
            mine->second += bytes;
    }
}

void observed_scopes::allocate(const trace::event& e) {
    running& all = thread(e.thread);
    const std::uint32_t stack = all.empty() ? 0 : all.back().stack;
    if (stack != 0) {
        const std::uint32_t subsystem = subsystems_.subsystem_of(e.context);
        auto& bytes = all.back().bytes;
        auto mine = std::find_if(bytes.begin(), bytes.end(), [&](const auto& b) { return b.first == subsystem; });
        if (mine == bytes.end()) mine = bytes.insert(bytes.end(), {subsystem, 0});
        mine->second += e.bytes;
        ++births_[std::uint64_t{stack} << 32 | subsystem];
    }
    live_.begin(e.address, object{clock_, e.bytes, e.time_ticks, stack, e.context, e.thread}, {e.time_ticks, e.thread},
                [this](const object& o, std::uint64_t, trace::moment at, trace::ending) {
                    ended(o, at.time_ticks, at.thread);
                });
}

// The activations around the birth that still run began before it: they are the outermost ones.
std::size_t observed_scopes::surviving(const object& o) const {
    const running& all = threads_[o.thread];
    const auto past = std::upper_bound(all.begin(), all.end(), o.birth,
                                       [](std::uint64_t birth, const activation& a) { return birth < a.serial; });
    return static_cast<std::size_t>(past - all.begin());
}

void observed_scopes::ended(const object& o, std::uint64_t tick, std::uint32_t by) {
    if (o.stack == 0) return;
    const std::size_t still = surviving(o);
    if (still < stacks_[o.stack].depth) outlived(o, still, tick, by);
}

template <class Visit>
void observed_scopes::for_each_function(std::uint32_t stack, Visit&& visit) const {
    struct seen {
        std::uint32_t function, outermost, innermost;
    };
    std::vector<seen> all;
    for (; stack != 0; stack = stacks_[stack].outer) {
        const stack_node& n = stacks_[stack];
        const auto known =
            std::find_if(all.begin(), all.end(), [&](const seen& s) { return s.function == n.function; });
        if (known == all.end())
            all.push_back({n.function, n.depth, n.depth});
        else
            known->outermost = n.depth;
    }
    for (const seen& s : all) visit(s.function, s.outermost, s.innermost);
}

void observed_scopes::outlived(const object& o, std::size_t surviving, std::uint64_t tick, std::uint32_t by) {
    const std::uint32_t subsystem = subsystems_.subsystem_of(o.context);
    std::uint64_t& count = outlived_[{o.stack, subsystem, static_cast<std::uint32_t>(surviving), tick != 0}];
    if (++count > 1) return;
    for_each_function(o.stack, [&](std::uint32_t function, std::uint32_t, std::uint32_t innermost) {
        std::vector<witness>& known = pairs_[{subsystem, function}].witnesses;
        const auto same = [&](const witness& w) { return w.context == o.context; };
        if (innermost > surviving && known.size() < witnesses_max && std::none_of(known.begin(), known.end(), same))
            known.push_back({o.context, o.thread, o.bytes, o.tick, tick, by});
    });
}

void observed_scopes::finish(std::uint64_t lost) {
    live_.settle([this](const object& o, std::uint64_t, trace::moment at, trace::ending) {
        ended(o, at.time_ticks, at.thread);
    });
    live_.for_each([this](std::uint64_t, const object& o) {
        if (o.stack != 0) outlived(o, surviving(o), 0, 0);  // counted as running within all
    });
    for (running& all : threads_) {
        while (!all.empty()) leave(all);
    }
    for (const auto& [key, count] : births_) {
        const auto subsystem = static_cast<std::uint32_t>(key);
        for_each_function(static_cast<std::uint32_t>(key >> 32),
                          [&](std::uint32_t function, auto, auto) { pairs_[{subsystem, function}].enclosed += count; });
    }
    for (const auto& [key, count] : outlived_) {
        for_each_function(key.stack, [&](std::uint32_t function, std::uint32_t outermost, std::uint32_t innermost) {
            observed_pair& of = pairs_[{key.subsystem, function}];
            std::uint64_t& inner = key.freed ? of.outlived : of.left;
            std::uint64_t& outer = key.freed ? of.outlived_outermost : of.left_outermost;
            if (innermost > key.surviving) inner += count;
            if (outermost > key.surviving) outer += count;
            if (!key.freed && outermost <= key.surviving) of.running += count;
        });
    }
    for (auto& [id, of] : by_function_) {
        if (lost > 0 && of.state == mpt_scope_observed) of.state = lost_events;
    }
}

}  // namespace millpond::characterise
