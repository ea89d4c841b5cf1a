// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/thread_stop.hpp"

namespace millpond::attach {

thread_stop::thread_stop(const target_process& process, pid_t except) : process_(process), known_{except} {
    while (true) {
        const std::vector<traced_thread*> traced = trace_others();
        if (traced.empty()) break;
        for (traced_thread* const each : traced) each->interrupt();
        std::set<pid_t> ended;
        for (traced_thread* const each : traced)
            if (!each->wait()) ended.insert(each->id());
        threads_.remove_if([&](const traced_thread& each) { return ended.contains(each.id()); });
    }
}

thread_stop::~thread_stop() {
    threads_.remove_if([&](const traced_thread& each) { return process_.has_children(each.id()); });
}

// Returns the threads that were not known yet.
std::vector<traced_thread*> thread_stop::trace_others() {
    std::vector<traced_thread*> traced;
    for (std::size_t before = 1; before != traced.size();) {
        before = traced.size();
        std::vector<pid_t> parents;
        for (const pid_t id : process_.threads()) {
            if (!known_.insert(id).second) continue;
            if (process_.has_children(id))
                parents.push_back(id);
            else
                traced.push_back(&threads_.emplace_back(process_, id));
        }
        for (const pid_t id : parents) traced.push_back(&threads_.emplace_back(process_, id));
    }
    return traced;
}

}  // namespace millpond::attach
