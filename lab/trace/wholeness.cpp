// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/wholeness.hpp"

#include <cstring>

#include "lab/trace/slot_file.h"

namespace millpond::trace {

std::string damage_text(const std::string& path, const std::vector<damage>& damages) {
    if (damages.empty()) return {};
    std::string text =
        path + " is damaged at offset " + std::to_string(damages.front().offset) + ": " + damages.front().what;
    if (damages.size() > 1) text += " (" + std::to_string(damages.size()) + " places in all)";
    return text;
}

void require_whole(const std::string& path, const std::vector<damage>& damages, bool accepts) {
    if (damages.empty()) return;
    const std::string text = damage_text(path, damages);
    if (!accepts) throw trace_error(text + "; record it again, or add --damaged to use the readable part");
    program::say(text + "; the damaged part is left out");
}

bool is_cut(const process_record& process) { return !process.ended || process.stopped_early != 0; }

std::string partial_reason(const process_record& process) {
    if (!process.stop_reason.empty()) return process.stop_reason;
    if (!process.ended) return "the trace has no end: its last part is missing";
    if (process.stopped_early == 1) return "the recording stopped at --max-trace, before the program ended";
    if (process.stopped_early == mpt_stop_asked) return "the recording was ended on request, before the program ended";
    if (process.stopped_early != 0)
        return std::string("the recording stopped before the program ended: ") +
               std::strerror(static_cast<int>(process.stopped_early & 0xffff));
    if (process.signal != 0)
        return std::string("the program was ended by signal ") + std::to_string(process.signal) + " (" +
               ::strsignal(process.signal) + ")";
    return {};
}

}  // namespace millpond::trace
