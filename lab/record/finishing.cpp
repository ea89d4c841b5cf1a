// SPDX-License-Identifier: BSL-1.0
#include "lab/record/finishing.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "lab/measure/clocks.hpp"
#include "lab/measure/module_facts.hpp"
#include "lab/program/program.hpp"
#include "lab/record/running.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/trace_set.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;

// Returns the reason why a process stopped recording, with a remedy.
std::string reason(std::uint32_t why) {
    if (why == mpt_stop_limit) return "--max-trace was reached";
    if (why == mpt_stop_ahead)
        return "the memory mapped ahead, for a program that forbids itself system calls, is used up; --ahead maps more";
    return strerror(static_cast<int>(why));
}

// Returns how many events were lost while the process continued to record, why, and a remedy. Empty if none were lost.
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

trace::end_record describe_end(const mpt_slot_process& facts, const std::optional<process_end>& end) {
    trace::end_record record;
    record.exit_status = end ? end->exit_status : -1;
    record.signal = end ? end->signal : 0;
    record.end_ns = measure::wall_ns();
    record.end_ticks = preload::machine::ticks();
    record.events_lost = facts.events_lost;
    record.clean = end ? end->signal == 0 : facts.exited != 0;
    record.stopped_early = facts.stopped;
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

// The modules that the process has described.
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

// Returns why the calls of a malloc in this module are missing, if it cannot be replaced; else empty.
std::string unseen_malloc(const std::string& module) {
    const std::string name = fs::path(module).filename();
    if (name.starts_with("libmillpond-") || name.starts_with("ld-linux") || name.starts_with("libc.so")) return "";
    const measure::module_facts facts = measure::facts_of_module(module);
    using kind = measure::module_facts::malloc_kind;
    if (facts.own_malloc == kind::bound)
        return "it exports malloc and was linked to call its own directly (-Bsymbolic)";
    return facts.own_malloc == kind::internal ? facts.allocator + " is linked into it" : "";
}

class slot_finisher {
  public:
    slot_finisher(std::string file, const std::optional<process_end>& end)
        : file_(std::move(file)), partial_(partial_file(file_)), end_(end), from_(partial_) {}

    finish_outcome run();

  private:
    struct image_name {
        std::uint64_t image;
        std::string path;
    };

    bool is_root(const trace::slot_process& p) const {
        return p.facts.pid == static_cast<std::uint64_t>(from_.header().root_pid);
    }
    image_name name_of(const trace::slot_process& process);
    bool is_free(const std::string& path, const trace::slot_process& process) const;
    bool still_runs(const trace::slot_process& process) const;
    void write(const trace::slot_process& process, bool is_end);
    void report(const trace::slot_process& process);
    void report_refusals();
    void remove_replaced();
    std::string list_running() const;
    void fail(const std::string& message) {
        if (!out_.problem) out_.problem.emplace(program::environment, message);
    }
    std::string finish_command() const { return "'millpond trace record --finish " + file_ + "'"; }

    const std::string file_, partial_;
    const std::optional<process_end> end_;
    trace::slot_reader from_;
    std::vector<running_process> running_;
    std::map<std::uint64_t, std::uint64_t> images_;  // so far, by pid
    bool unwritten_ = false;                         // a trace could not be written
    std::uint64_t limit_lost_ = 0;                   // events behind --max-trace, of all processes
    finish_outcome out_;
};

bool slot_finisher::still_runs(const trace::slot_process& process) const {
    return std::any_of(running_.begin(), running_.end(), [&](const running_process& p) {
        constexpr std::uint64_t tick_ns = 20'000'000;  // a younger process has the same number
        return p.has_mapped && p.own_pid == process.facts.pid && p.start_ns <= process.facts.start_ns + tick_ns;
    });
}

// Returns whether this process's trace may take that name: no file has it, or only a file of the former recording, or
// its own.
bool slot_finisher::is_free(const std::string& path, const trace::slot_process& process) const {
    if (!fs::exists(fs::symlink_status(path))) return true;
    const trace::trace_origin there = trace::read_origin(path);
    if (!there.is_known || there.recording == 0) return false;
    if (there.recording == from_.header().replaces) return true;
    return there.recording == from_.header().recording && there.pid == process.facts.pid &&
           there.first_tick == process.facts.start_ticks;
}

slot_finisher::image_name slot_finisher::name_of(const trace::slot_process& process) {
    const std::uint64_t image = images_[process.facts.pid]++;
    if (is_root(process) && image == 0) return {image, file_};
    std::uint64_t number = is_root(process) ? image - 1 : image;
    const std::string stem = file_ + "." + std::to_string(process.facts.pid);
    const std::string usual = number == 0 ? stem : stem + "." + std::to_string(number);
    std::string name = usual;
    while (process.facts.finished == 0 && !is_free(name, process)) name = stem + "." + std::to_string(++number);
    if (name != usual && process.facts.finished == 0)
        out_.notices.push_back(usual +
                               " is not a trace of the recording that this one replaces, so it stays; process " +
                               std::to_string(process.facts.pid) + " is in " + name);
    return {image, name};
}

void slot_finisher::report(const trace::slot_process& process) {
    const std::string executable = executable_of(from_, process);
    const std::string who = "process " + std::to_string(process.facts.pid) + " (" + executable + ")";
    const mpt_slot_process& facts = process.facts;
    std::vector<std::string> libraries;
    for (const trace::module_record& module : modules_of(from_, process)) libraries.push_back(module.path);
    if (is_root(process) && end_) libraries.insert(libraries.end(), end_->modules.begin(), end_->modules.end());
    std::set<std::string> said_of = {fs::path(executable).filename()};
    for (const std::string& library : libraries) {
        if (!said_of.insert(fs::path(library).filename()).second) continue;
        if (const std::string why = unseen_malloc(library); !why.empty())
            out_.notices.push_back(who + ": the calls of " + library + " to its own malloc are missing: " + why);
    }
    if (facts.own_malloc != 0 || !unseen_malloc(executable).empty())
        out_.notices.push_back(who +
                               ": a malloc is linked into the executable, so its calls cannot be seen; link that "
                               "malloc dynamically, or record a build without it");
    if (facts.stopped == mpt_stop_limit) limit_lost_ += facts.events_lost;
    if (facts.stopped == mpt_stop_limit || (facts.stopped == 0 && facts.events_lost == 0)) return;
    const std::string said = facts.stopped == 0
                                 ? losses(facts) + "; the trace holds all others"
                                 : "recording stopped early: " + reason(facts.stopped) +
                                       "; the trace holds what was written until then, " + "and " +
                                       std::to_string(facts.events_lost) + " events were lost" + losses(facts);
    if (is_root(process))
        fail(said);
    else
        out_.notices.push_back(who + ": " + said);
}

void slot_finisher::write(const trace::slot_process& process, bool is_end) {
    const image_name name = name_of(process);
    if (process.facts.finished != 0) return;
    const trace::trace_identity identity{name.image, from_.header().recording, from_.header().mode};
    try {
        (void)trace::finish(from_, process, name.path, identity,
                            describe_end(process.facts, is_end ? end_ : std::nullopt));
        report(process);
        from_.mark_finished(process);
    } catch (const trace::trace_error& nothing) {  // it ended while its recording began, or could not begin it
        report(process);
        from_.mark_finished(process);
    } catch (const std::system_error& e) {
        unwritten_ = true;
        fail(std::string("cannot write the trace: ") + e.what() + "; make room, then complete it with " +
             finish_command());
    }
}

void slot_finisher::report_refusals() {
    const std::uint64_t count = from_.header().refusals;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, mpt_refusals_max); ++i) {
        const mpt_refusal& refused = from_.header().refused[i];
        const std::string why = reason(refused.error);
        if (refused.pid == static_cast<std::uint64_t>(from_.header().root_pid))
            fail("recording could not begin: " + why + "; no trace was written");
        else
            out_.notices.push_back("process " + std::to_string(refused.pid) + " was not recorded: " + partial_ + ": " +
                                   why + remedy(refused.error));
    }
    if (count > mpt_refusals_max)
        out_.notices.push_back(std::to_string(count - mpt_refusals_max) + " more processes were not recorded");
}

// Removes the former recording's traces next to FILE that this one did not replace.
void slot_finisher::remove_replaced() {
    const std::uint64_t former = from_.header().replaces;
    if (former == 0 || trace::read_origin(file_).recording != from_.header().recording) return;
    for (const trace::trace_file& sibling : trace::numbered_siblings(file_)) {
        const trace::trace_origin origin = trace::read_origin(sibling.path);
        std::error_code ignored;
        if (origin.is_known && origin.recording == former) fs::remove(sibling.path, ignored);
    }
}

std::string slot_finisher::list_running() const {
    std::string list;
    for (const running_process& p : running_) list += (list.empty() ? "" : ", ") + std::to_string(p.pid);
    return list;
}

finish_outcome slot_finisher::run() {
    running_ = find_running(partial_, from_.device(), from_.inode());
    const auto& processes = from_.processes();
    const trace::slot_process* last_root = nullptr;
    for (const trace::slot_process& p : processes)
        if (is_root(p)) last_root = &p;
    for (const trace::slot_process& p : processes) {
        if (still_runs(p))
            ++images_[p.facts.pid];
        else
            write(p, &p == last_root);
    }
    if (limit_lost_ > 0)
        out_.notices.push_back(reason(mpt_stop_limit) + ": the traces hold what was written until then, and " +
                               std::to_string(limit_lost_) + " later events were lost");
    report_refusals();
    remove_replaced();
    if (!running_.empty()) {
        fail("the program left processes that still run and are recorded (" + list_running() +
             "); when they have ended, complete their traces with " + finish_command());
        return std::move(out_);
    }
    if (unwritten_) return std::move(out_);
    fs::remove(partial_);  // the file that was opened above and is a recording of ours
    if (processes.empty())
        fail(
            "the program did not load the recorder, so no trace was written (does it clear LD_PRELOAD or "
            "drop the right to write to the trace's directory?)");
    return std::move(out_);
}

}  // namespace

finish_outcome finish(const std::string& file, const std::optional<process_end>& end) {
    const std::string partial = partial_file(file);
    if (!fs::exists(partial)) throw program::failure(program::input, partial + " does not exist; nothing to finish");
    try {
        finish_outcome outcome = slot_finisher(file, end).run();
        if (end && end->signal == SIGSYS)
            outcome.notices.push_back(
                "the program was ended by SIGSYS: a seccomp filter forbids it a system call; if it runs without the "
                "recorder, record it with --ahead 256MB, which leaves the recorder none to make");
        return outcome;
    } catch (const std::system_error& error) {
        throw program::failure(program::environment, std::string(error.what()) + "; then complete the recording with " +
                                                         "'millpond trace record --finish " + file + "'");
    }
}

}  // namespace millpond::record
