// SPDX-License-Identifier: BSL-1.0
#include "lab/attach/thread_stop.hpp"

#include <set>
#include <vector>

namespace millpond::attach {

thread_stop::thread_stop(const target_process& process, pid_t except) {
    std::set<pid_t> known = {except};
    while (true) {
        std::vector<traced_thread*> asked;
        for (const pid_t id : process.threads())
            if (known.insert(id).second) asked.push_back(&threads_.emplace_back(process, id));
        if (asked.empty()) break;
        std::set<pid_t> ended;
        for (traced_thread* const each : asked)
            if (!each->wait()) ended.insert(each->id());
        threads_.remove_if([&](const traced_thread& each) { return ended.contains(each.id()); });
    }
}

thread_stop::~thread_stop() {
    while (!threads_.empty()) threads_.pop_back();
}

}  // namespace millpond::attach
