// SPDX-License-Identifier: BSL-1.0
// literal_model: the definition of legality, applied literally to all events. It is quadratic on purpose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "small_program.hpp"

namespace millpond::test {

inline bool begins(const trace::event& e) {
    return e.op == trace::operation::allocate || e.op == trace::operation::realloc_allocate;
}
inline bool ends(const trace::event& e) {
    return e.op == trace::operation::free || e.op == trace::operation::realloc_free;
}

// An invocation that encloses a context: the frame that called the function, and the function.
using invocation = std::pair<std::uint32_t, std::uint32_t>;

// Returns the invocations that enclose a context, the outermost first.
inline std::vector<invocation> invocations(const small_program& program, std::uint32_t context) {
    std::vector<invocation> path;
    for (std::uint32_t at = context; at != 0; at = program.nodes()[at].parent)
        path.insert(path.begin(), {program.nodes()[at].parent, program.function_of(at)});
    return path;
}

// The literal definition: an invocation is active until its thread shows otherwise.
class literal_model {
  public:
    literal_model(const small_program& program, const std::vector<trace::event>& events)
        : program_(program), events_(events) {}

    struct life {
        std::size_t born, died;  // positions; died: events.size() if live at the end
    };

    std::vector<life> lives() const {
        std::vector<life> all;
        std::map<std::uint64_t, std::size_t> live;
        for (std::size_t i = 0; i < events_.size(); ++i) {
            if (begins(events_[i])) {
                live[events_[i].address] = all.size();
                all.push_back({i, events_.size()});
            } else if (ends(events_[i])) {
                const auto found = live.find(events_[i].address);
                if (found == live.end()) continue;
                all[found->second].died = i;
                live.erase(found);
            }
        }
        return all;
    }

    // Returns the position of a thread that an event tells; nothing if the event does not tell it.
    std::optional<std::uint32_t> place(std::size_t at, std::uint32_t thread) const {
        const trace::event& e = events_[at];
        if (e.thread != thread) return {};
        if (begins(e)) return e.context;
        if (e.op != trace::operation::note) return {};
        if (e.bytes == mpt_note_thread_end) return 0;
        if (e.bytes != mpt_note_returned) return {};
        std::uint32_t node = 0;  // of the last allocation before
        for (std::size_t i = 0; i < at; ++i) {
            if (events_[i].thread == thread && begins(events_[i])) node = events_[i].context;
        }
        for (std::uint64_t up = 0; up < e.address && node != 0; ++up) node = program_.nodes()[node].parent;
        return node;
    }

    bool is_left(const life& object) const { return object.died == events_.size(); }

    // True if the innermost invocation of `function` around the object's birth ended before the object's death.
    bool outlived(const life& object, std::uint32_t function) const {
        const trace::event& birth = events_[object.born];
        const std::vector<invocation> path = invocations(program_, birth.context);
        std::size_t depth = path.size();
        while (path[depth - 1].second != function) --depth;
        for (std::size_t i = object.born; i < object.died; ++i) {
            const std::optional<std::uint32_t> now = place(i, birth.thread);
            if (!now) continue;
            const std::vector<invocation> there = invocations(program_, *now);
            if (there.size() < depth ||
                !std::equal(path.begin(), path.begin() + static_cast<long>(depth), there.begin()))
                return true;
        }
        return false;
    }

    bool enclosed(const life& object, std::uint32_t function) const {
        const std::vector<invocation> path = invocations(program_, events_[object.born].context);
        return std::any_of(path.begin(), path.end(), [&](const invocation& i) { return i.second == function; });
    }

    // Bytes of each activation of `function` in which the subsystem allocates, in no order.
    std::multiset<std::uint64_t> instances(const pass& found, std::uint32_t subsystem, std::uint32_t function) const {
        std::map<std::tuple<std::uint32_t, std::size_t, std::size_t>, std::uint64_t> bytes;
        std::map<std::uint32_t, std::vector<std::pair<invocation, std::size_t>>> stacks;  // with the start's position
        for (std::size_t i = 0; i < events_.size(); ++i) {
            const trace::event& e = events_[i];
            const std::optional<std::uint32_t> now = place(i, e.thread);
            if (!now) continue;
            const std::vector<invocation> path = invocations(program_, *now);
            auto& stack = stacks[e.thread];
            std::size_t common = 0;
            while (common < path.size() && common < stack.size() && stack[common].first == path[common]) ++common;
            stack.resize(common);
            while (stack.size() < path.size()) stack.push_back({path[stack.size()], i});
            if (!begins(e) || found.subsystems.subsystem_of(e.context) != subsystem) continue;
            for (std::size_t d = 0; d < stack.size(); ++d) {
                if (stack[d].first.second == function) bytes[{e.thread, d, stack[d].second}] += e.bytes;
            }
        }
        std::multiset<std::uint64_t> all;
        for (const auto& [activation, sum] : bytes) all.insert(sum);
        return all;
    }

  private:
    const small_program& program_;
    const std::vector<trace::event>& events_;
};

}  // namespace millpond::test
