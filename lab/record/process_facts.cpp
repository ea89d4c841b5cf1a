// SPDX-License-Identifier: BSL-1.0
#include "lab/record/process_facts.hpp"

#include <errno.h>
#include <string.h>

#include <filesystem>

#include "lab/measure/clocks.hpp"
#include "lab/measure/module_facts.hpp"
#include "lab/trace/records.hpp"
#include "preload/machine.hpp"

namespace millpond::record {

namespace fs = std::filesystem;

std::string reason(std::uint32_t why) {
    if (why == mpt_stop_limit) return "--max-trace was reached";
    if (why == mpt_stop_ahead)
        return "the memory mapped ahead, for a program that forbids itself system calls, is used up; --ahead maps more";
    if (why == mpt_stop_filter)
        return "it forbade itself system calls (seccomp) before this stretch, which a recorder needs to begin one";
    return strerror(static_cast<int>(why));
}

std::string losses(const mpt_slot_process& facts) {
    static constexpr const char* causes[mpt_lost_causes] = {
        ("no memory or no mapping was left for the events of more threads (limits: memory, address space, "
         "vm.max_map_count)"),
        "a signal handler allocated while it interrupted the recorder",
        "a signal handler forked while it interrupted the recorder"};
    std::string list;
    std::uint64_t explained = 0;
    for (unsigned why = 0; why < mpt_lost_causes; ++why) {
        if (facts.lost_by[why] == 0) continue;
        explained += facts.lost_by[why];
        list += (list.empty() ? "" : "; ") + std::to_string(facts.lost_by[why]) + ": " + causes[why];
    }
    if (facts.stopped != 0) return list.empty() ? "" : "; of these, " + list;
    if (facts.events_lost > explained)
        list +=
            (list.empty() ? "" : "; ") + std::to_string(facts.events_lost - explained) + ": nothing could be written";
    return list.empty() ? "" : std::to_string(facts.events_lost) + " events were lost (" + list + ")";
}

std::string remedy(std::uint32_t error) {
    if (error == EACCES || error == EPERM)
        return "; it was started as another user: record the program as that user, or the process separately";
    if (error == ENOENT) return "; it was started in another root directory: record it separately, there";
    return "";
}

trace::end_record describe_end(const mpt_slot_process& facts, const std::optional<process_end>& end, bool goes_on) {
    trace::end_record record;
    record.exit_status = end ? end->exit_status : -1;
    record.signal = end ? end->signal : 0;
    record.end_ns = measure::wall_ns();
    record.end_ticks = preload::machine::ticks();
    record.events_lost = facts.events_lost;
    record.clean = goes_on || (end ? end->signal == 0 : facts.exited != 0);
    record.stopped_early = facts.stopped == 0 && goes_on ? std::uint32_t{mpt_stop_asked} : facts.stopped;
    record.aliasing_sampled = facts.aliasing_sampled;
    record.aliasing_differed = facts.aliasing_differed;
    record.aliasing_differed_deep = facts.aliasing_differed_deep;
    record.allocations_failed = facts.allocations_failed;
    return record;
}

std::string executable_of(const trace::slot_reader& from, const trace::slot_process& process) {
    trace::process_record record;
    trace::payload_buffer payload;
    for (const trace::slot_block& block : from.blocks(process)) {
        if (block.header.kind != mpt_process || !block.sealed) continue;
        if (!from.read(block.offset + sizeof block.header, payload.resize(block.header.stored_bytes),
                       block.header.stored_bytes))
            break;
        try {
            trace::take_process(payload.bytes(), record);
        } catch (const trace::trace_error& damaged) {
            return "?";
        }
        break;
    }
    return record.executable.empty() ? "?" : record.executable;
}

std::vector<trace::module_record> modules_of(const trace::slot_reader& from, const trace::slot_process& process) {
    std::vector<trace::module_record> modules;
    trace::payload_buffer payload;
    for (const trace::slot_block& block : from.blocks(process)) {
        if (block.header.kind != mpt_modules || !block.sealed) continue;
        if (!from.read(block.offset + sizeof block.header, payload.resize(block.header.stored_bytes),
                       block.header.stored_bytes))
            break;
        try {
            trace::take_modules(payload.bytes(), block.header.count, modules);
        } catch (const trace::trace_error& damaged) {
            break;
        }
    }
    return modules;
}

std::string unseen_malloc(const std::string& module) {
    const std::string name = fs::path(module).filename();
    if (name.starts_with("libmillpond-") || name.starts_with("ld-linux") || name.starts_with("libc.so")) return "";
    const measure::module_facts facts = measure::facts_of_module(module);
    using kind = measure::module_facts::malloc_kind;
    if (facts.own_malloc == kind::bound)
        return "it exports malloc and was linked to call its own directly (-Bsymbolic)";
    return facts.own_malloc == kind::internal ? facts.allocator + " is linked into it" : "";
}

}  // namespace millpond::record
