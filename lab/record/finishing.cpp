// SPDX-License-Identifier: BSL-1.0
#include "lab/record/finishing.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "lab/program/program.hpp"
#include "lab/record/process_facts.hpp"
#include "lab/record/running.hpp"
#include "lab/record/stretches.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;

constexpr char not_loaded[] =
    "the program did not load the recorder, so no trace was written (does it clear LD_PRELOAD or drop the right to "
    "write to the trace's directory?)";

class slot_finisher {
  public:
    slot_finisher(std::string file, const std::optional<process_end>& end)
        : file_(std::move(file)), partial_(partial_file(file_)), end_(end), from_(partial_), name_(file_) {}

    finish_outcome run();
    finish_outcome run_stretches();
    finish_outcome run_last_stretches(bool was_awake);
    bool sleeps() const { return from_.header().turn != 0; }
    bool is_attached() const { return from_.header().attached != 0; }

  private:
    struct image_name {
        std::uint64_t image;
        std::string path;
    };

    bool is_root(const trace::slot_process& p) const {
        return p.facts.pid == static_cast<std::uint64_t>(from_.header().root_pid);
    }
    image_name name_of(const trace::slot_process& process);
    void write_stretches();
    std::uint32_t name_stretch(const trace::slot_process& first);
    void release_former();
    bool is_free(const std::string& path, const trace::slot_process& process) const;
    bool still_runs(const trace::slot_process& process) const;
    bool write(const trace::slot_process& process, bool is_end, bool goes_on = false);
    void report(const trace::slot_process& process);
    void report_limit();
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
    std::string name_;  // in FILE's place
    std::vector<running_process> running_;
    std::map<std::uint64_t, std::uint64_t> images_;  // so far, by pid
    bool unwritten_ = false;                         // a trace could not be written
    std::uint64_t limit_lost_ = 0;                   // events behind --max-trace, of all processes
    finish_outcome out_;
};

bool slot_finisher::still_runs(const trace::slot_process& process) const {
    return std::any_of(running_.begin(), running_.end(), [&](const running_process& p) { return p.is(process.facts); });
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
    if (is_root(process) && image == 0) return {image, name_};
    std::uint64_t number = is_root(process) ? image - 1 : image;
    const std::string stem = name_ + "." + std::to_string(process.facts.pid);
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

// Returns whether there is a trace of it now.
bool slot_finisher::write(const trace::slot_process& process, bool is_end, bool goes_on) {
    const image_name name = name_of(process);
    if (process.facts.finished != 0) return false;
    const trace::trace_identity identity{name.image, from_.header().recording, from_.header().mode};
    try {
        (void)trace::finish(from_, process, name.path, identity,
                            describe_end(process.facts, is_end ? end_ : std::nullopt, goes_on), goes_on);
        report(process);
        from_.mark_finished(process, goes_on);
        return true;
    } catch (const trace::trace_error& nothing) {  // it ended while its recording began, or could not begin it
        report(process);
        from_.mark_finished(process, goes_on);
    } catch (const std::system_error& e) {
        unwritten_ = true;
        fail(std::string("cannot write the trace: ") + e.what() +
             (goes_on ? "; make room: the next stop, or the program's end, writes it"
                      : "; make room, then complete it with " + finish_command()));
    }
    return false;
}

void slot_finisher::report_limit() {
    if (limit_lost_ > 0)
        out_.notices.push_back(reason(mpt_stop_limit) + ": the traces hold what was written until then, and " +
                               std::to_string(limit_lost_) + " later events were lost");
}

void slot_finisher::report_refusals() {
    const std::uint64_t count = from_.header().refusals;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, mpt_refusals_max); ++i) {
        const mpt_refusal& refused = from_.header().refused[i];
        const std::string why = reason(refused.error);
        if (!sleeps() && refused.pid == static_cast<std::uint64_t>(from_.header().root_pid))
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
    const auto remove = [former](const std::string& path) {
        const trace::trace_origin origin = trace::read_origin(path);
        std::error_code ignored;
        return origin.is_known && origin.recording == former && fs::remove(path, ignored);
    };
    if (former == 0) return;
    if (!sleeps() || is_attached()) {
        if (trace::read_origin(file_).recording != from_.header().recording) return;
        for (const trace::trace_file& sibling : trace::numbered_siblings(file_)) remove(sibling.path);
        return;
    }
    bool found = from_.header().stretches > 0;
    for (std::uint64_t n = 1; found; ++n) {
        const std::string name = stretch_file(file_, n);
        found = remove(name) || n < from_.header().stretches;
        for (const trace::trace_file& sibling : trace::numbered_siblings(name))
            if (remove(sibling.path)) found = true;
    }
}

// Chooses the first free name behind the last one; returns its number.
std::uint32_t slot_finisher::name_stretch(const trace::slot_process& first) {
    std::uint32_t number = from_.header().stretches;
    if (is_attached()) return number + 1;  // the only one, in FILE
    do {
        name_ = stretch_file(file_, ++number);
    } while (!is_free(name_, first));
    images_.clear();
    return number;
}

void slot_finisher::write_stretches() {
    const std::uint32_t turn = from_.header().turn;
    std::map<std::uint64_t, std::vector<const trace::slot_process*>> by_turn;
    for (const trace::slot_process& p : from_.processes())
        if (p.facts.finished == 0 && p.facts.turn != turn) by_turn[p.facts.turn].push_back(&p);
    for (const auto& [its_turn, processes] : by_turn) {
        const std::uint32_t number = name_stretch(*processes.front());
        const auto last_root =
            std::find_if(processes.rbegin(), processes.rend(), [&](const auto* p) { return is_root(*p); });
        bool wrote = false;
        for (const trace::slot_process* const p : processes) {
            const bool goes_on = p->facts.exited == 0 && (its_turn <= from_.header().stopped || still_runs(*p));
            const bool is_end = !goes_on && last_root != processes.rend() && p == *last_root;
            if (write(*p, is_end, goes_on)) wrote = true;
        }
        if (!wrote) continue;
        from_.note_stretch(number);
        out_.stretches.push_back(name_);
    }
    report_limit();
}

// The blocks that stayed open: by now no thread can be in an event of those stretches.
void slot_finisher::release_former() {
    for (const trace::slot_process& p : from_.processes())
        if (p.facts.finished != 0 && p.slots.size() > 1 && p.facts.turn < from_.header().stopped)
            from_.mark_finished(p);
}

finish_outcome slot_finisher::run_stretches() {
    write_stretches();
    release_former();
    return std::move(out_);
}

// The program has ended. Processes that it has left go on asleep.
finish_outcome slot_finisher::run_last_stretches(bool was_awake) {
    running_ = find_running(partial_, from_.device(), from_.inode());
    write_stretches();
    report_refusals();
    remove_replaced();
    if (unwritten_ || out_.problem) return std::move(out_);
    fs::remove(partial_);
    if (from_.header().images == 0)
        fail(not_loaded);
    else if (from_.header().stretches == 0)
        out_.notices.push_back(was_awake || is_attached() ? why_no_trace(from_.header())
                                                          : "the program ended asleep, so no trace was written");
    if (!running_.empty())
        out_.notices.push_back("the program left processes that still run (" + list_running() +
                               "); they are recorded no more");
    return std::move(out_);
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
    report_limit();
    report_refusals();
    remove_replaced();
    if (!running_.empty()) {
        fail("the program left processes that still run and are recorded (" + list_running() +
             "); when they have ended, complete their traces with " + finish_command());
        return std::move(out_);
    }
    if (unwritten_) return std::move(out_);
    fs::remove(partial_);  // the file that was opened above and is a recording of ours
    if (processes.empty()) fail(not_loaded);
    return std::move(out_);
}

// Runs a part of the finishing pass, and adds the remedy to an error that ends it.
template <class Part>
finish_outcome finish_part(const std::string& file, const Part& part) {
    const std::string partial = partial_file(file);
    if (!fs::exists(partial)) throw program::failure(program::input, partial + " does not exist; nothing to finish");
    try {
        return part(partial);
    } catch (const std::system_error& error) {
        throw program::failure(program::environment, std::string(error.what()) + "; then complete the recording with " +
                                                         "'millpond trace record --finish " + file + "'");
    }
}

}  // namespace

finish_outcome finish_stretches(const std::string& file) {
    return finish_part(file, [&](const std::string& partial) {
        settle(partial);
        return slot_finisher(file, std::nullopt).run_stretches();
    });
}

finish_outcome finish(const std::string& file, const std::optional<process_end>& end) {
    finish_outcome outcome = finish_part(file, [&](const std::string& partial) {
        slot_finisher all(file, end);
        if (!all.sleeps()) return all.run();
        const bool was_awake = end_last_stretch(partial);
        return slot_finisher(file, end).run_last_stretches(was_awake);
    });
    if (end && end->signal == SIGSYS)
        outcome.notices.push_back(
            "the program was ended by SIGSYS: a seccomp filter forbids it a system call; if it runs without the "
            "recorder, record it with --ahead 256MB, which leaves the recorder none to make");
    return outcome;
}

}  // namespace millpond::record
