// SPDX-License-Identifier: BSL-1.0
#include "lab/references/finishing.hpp"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "lab/symbols/elf_file.hpp"
#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/column_splitter.hpp"
#include "lab/trace/fields.hpp"
#include "lab/trace/records.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::references {

namespace {

namespace fs = std::filesystem;

// A process image: its partial file, and the contents of its first block.
struct image {
    trace::trace_file file;
    trace::process_record process;
};

std::string build_id_of(const std::string& path) {
    try {
        return symbols::elf_file(path).build_id();
    } catch (const std::exception& unreadable) {
        return {};
    }
}

// Returns whether the trace's last block says how the trace ended.
bool is_closed(const image& one) {
    trace::damage_list cut;
    trace::block_file file(one.file.path);
    const auto blocks = file.scan(cut);
    return cut.all().empty() && !blocks.empty() && blocks.back().header.kind == mpt_end;
}

bool runs(std::uint64_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(status, line);
    const std::size_t state = line.rfind(") ");
    return state != line.npos && line.size() > state + 2 && line[state + 2] != 'Z' && line[state + 2] != 'X';
}

// Returns whether a writer process still has the file open.
bool has_writer(const image& one) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(one.file.path, ignored);
    for (const auto& process : fs::directory_iterator("/proc", ignored)) {
        const std::string name = process.path().filename().string();
        if (name.find_first_not_of("0123456789") != name.npos || name == std::to_string(getpid())) continue;
        std::error_code refused;
        for (const auto& entry : fs::directory_iterator(process.path() / "fd", refused))
            if (fs::read_symlink(entry.path(), refused) == path) return true;
    }
    return false;
}

bool is_being_written(const image& one) { return runs(one.file.pid) && !is_closed(one) && has_writer(one); }

class image_finisher {
  public:
    // `error`: errno if its file could not be completed.
    image_finisher(const image& one, std::string out, unsigned mode, int error)
        : image_(one),
          error_(error),
          path_(std::move(out)),
          from_(one.file.path),
          out_(path_, trace::block_output::default_level, mode) {}

    // Returns whether anything was captured. Throws std::system_error.
    void run(const std::optional<program_end>& end);
    // Returns whether the process was killed, so that its last part is missing.
    bool was_cut() const { return !ends_ && error_ == 0; }

  private:
    void take(const trace::block_record& block);
    void take_modules(const trace::block_record& block);
    void take_events(const trace::block_record& block);
    void put_end(const std::optional<program_end>& end);

    const image& image_;
    const int error_;
    const std::string path_;
    trace::block_file from_;
    trace::block_output out_;
    trace::payload_buffer payload_;
    trace::column_splitter splitter_;
    trace::process_record end_;
    std::uint64_t contexts_ = 0;
    bool ends_ = false;  // the last block was the process's end
};

void image_finisher::run(const std::optional<program_end>& end) {
    trace::damage_list cut;  // a block that was cut off when the process was killed
    for (const trace::block_record& block : from_.scan(cut)) {
        take(block);
        ends_ = block.header.kind == mpt_end;
    }
    ends_ &= cut.all().empty() && error_ == 0;
    put_end(end);
    out_.commit();
}

void image_finisher::take(const trace::block_record& block) {
    std::string what;
    if (!from_.read_payload(block, payload_, what)) throw trace::trace_error(image_.file.path + ": " + what);
    const mpt_block_header& h = block.header;
    if (h.kind == mpt_end) return trace::take_end(payload_.bytes(), end_);
    if (h.kind == mpt_modules) return take_modules(block);
    if (h.kind == mpt_contexts) contexts_ = std::max<std::uint64_t>(contexts_, h.first + h.count - 1);
    if (h.kind == mpt_events) return take_events(block);
    if (h.kind != mpt_process) return out_.append(h, payload_.bytes());
    trace::field_writer known;
    known.entry(mpt_key_image, image_.process.image);
    if (const std::string id = build_id_of(image_.process.executable); !id.empty())
        known.entry(mpt_key_build_id, std::string_view(id));
    std::vector<std::uint8_t> whole(payload_.bytes().begin(), payload_.bytes().end());
    whole.insert(whole.end(), known.bytes().begin(), known.bytes().end());
    out_.append(h, whole);
}

void image_finisher::take_events(const trace::block_record& block) {
    const trace::column_splitter::result columns = splitter_.split(payload_.bytes());
    mpt_block_header header = block.header;
    header.layout = mpt_columns;
    header.count = columns.events;
    if (columns.events > 0) out_.append(header, columns.payload);
}

void image_finisher::take_modules(const trace::block_record& block) {
    std::vector<trace::module_record> modules;
    trace::take_modules(payload_.bytes(), block.header.count, modules);
    trace::field_writer to;
    std::uint32_t count = 0;
    for (trace::module_record& module : modules) {
        if (module.path.empty()) continue;  // an entry that another block holds
        module.build_id = build_id_of(module.path);
        trace::put_module(module, to);
        ++count;
    }
    mpt_block_header header = block.header;
    header.count = count;
    out_.append(header, to.bytes());
}

void image_finisher::put_end(const std::optional<program_end>& end) {
    trace::end_record record;
    record.exit_status = end ? end->exit_status : -1;
    record.signal = end ? end->signal : 0;
    record.end_ticks = end_.end_ticks;
    record.end_ns = end_.end_ns;
    record.clean = ends_ && end_.clean && record.signal == 0;
    record.stopped_early = end_.stopped_early;
    record.stop_reason = end_.stop_reason;
    if (error_ != 0) {
        record.stopped_early = static_cast<std::uint64_t>(error_);
    } else if (!ends_ && record.stopped_early == 0) {
        record.stopped_early = ECANCELED;
        record.stop_reason = "the process was killed, or its capture was interrupted";
    }
    record.allocations_failed = end_.allocations_failed;
    trace::field_writer payload;
    trace::put_end(record, contexts_, payload);
    out_.append(trace::make_header(mpt_end, 1), payload.bytes());
}

std::vector<image> find_images(const std::string& stem, finish_outcome& outcome) {
    std::vector<image> images;
    for (const trace::trace_file& file : trace::numbered_siblings(stem)) {
        try {
            trace::block_record block;
            trace::payload_buffer payload;
            if (!trace::block_file(file.path).read_first(block, payload)) throw trace::trace_error("no whole block");
            image one{file, {}};
            trace::take_process(payload.bytes(), one.process);
            one.process.image = file.image;
            images.push_back(std::move(one));
        } catch (const trace::trace_error& nothing) {
            outcome.notices.push_back(file.path + " holds no capture of a process; it was removed");
            fs::remove(file.path);
        }
    }
    return images;
}

// Returns the process that no other image here has started.
std::uint64_t root_of(const std::vector<image>& images) {
    std::set<std::uint64_t> pids;
    for (const image& one : images) pids.insert(one.process.pid);
    for (const image& one : images)
        if (!pids.contains(one.process.parent_pid)) return one.process.pid;
    return images.front().process.pid;
}

// A file with such a name that is not a trace stays; the next number is used then.
std::string name_of(const std::string& file, const image& one, std::uint64_t root) {
    if (one.process.pid == root && one.process.image == 0) return file;
    const std::string stem = file + "." + std::to_string(one.process.pid);
    std::uint64_t number = one.process.image;
    std::string name = number == 0 ? stem : stem + "." + std::to_string(number);
    while (fs::exists(fs::symlink_status(name)) && !trace::read_origin(name).is_trace)
        name = stem + "." + std::to_string(++number);
    return name;
}

// Removes traces of other processes of an earlier capture that this one replaces.
void remove_replaced(const std::string& file, std::uint64_t replaced) {
    if (replaced == 0 || trace::read_origin(file).recording == replaced) return;
    for (const trace::trace_file& sibling : trace::numbered_siblings(file))
        if (trace::read_origin(sibling.path).recording == replaced) fs::remove(sibling.path);
}

}  // namespace

std::string partial_stem(const std::string& file) { return fs::absolute(file).string() + ".partial"; }

finish_outcome finish(const std::string& file, const std::optional<program_end>& end, unsigned mode,
                      const capture_report& report) {
    finish_outcome outcome;
    const std::vector<image> images = find_images(partial_stem(file), outcome);
    if (images.empty() && end)
        throw program::failure(program::environment,
                               "nothing was captured: the program ended before its first instruction under Valgrind");
    if (images.empty())
        throw program::failure(program::input, "there is no unfinished capture of " + file +
                                                   ": no process has written to " + partial_stem(file) + ".*");
    const std::uint64_t root = end ? end->pid : root_of(images);
    const std::uint64_t replaced = trace::read_origin(file).recording;
    std::uint64_t last_image = 0;
    for (const image& one : images)
        if (one.process.pid == root) last_image = std::max(last_image, one.process.image);
    for (const image& one : images) {
        if (is_being_written(one)) {
            outcome.problem.emplace(program::environment,
                                    "process " + std::to_string(one.process.pid) +
                                        " still runs and is captured; when it has ended, complete its trace with "
                                        "'millpond trace record --finish " +
                                        file + "'");
            continue;
        }
        const bool is_end = end && one.process.pid == root && one.process.image == last_image;
        const std::string name = name_of(file, one, root);
        const bool failed = std::find(report.failed.begin(), report.failed.end(), one.file.path) != report.failed.end();
        try {
            image_finisher work(one, name, mode, failed ? report.error : 0);
            work.run(is_end ? end : std::nullopt);
            if (work.was_cut())
                outcome.notices.push_back(name + " is partial: process " + std::to_string(one.process.pid) +
                                          " was killed, or its capture was interrupted");
        } catch (const std::system_error& refused) {
            throw program::failure(program::environment,
                                   "cannot write the trace " + name + ": " + refused.code().message() +
                                       "; make room, then complete it with 'millpond trace record "
                                       "--finish " +
                                       file + "'");
        }
        outcome.traces.push_back(name);
        fs::remove(one.file.path);
    }
    remove_replaced(file, replaced);
    return outcome;
}

}  // namespace millpond::references
