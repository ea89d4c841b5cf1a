// SPDX-License-Identifier: BSL-1.0
// millpond-trace: shows a trace, and rebuilds its index.
//
//   millpond-trace info TRACE     a summary of its content
//   millpond-trace dump TRACE     every record and event, a line each
//   millpond-trace index TRACE    rebuild the index
//   millpond-trace list [--null] FILE   the traces of one recording
//
// Exit status: 0 ok, 2 usage, 3 the trace is missing, empty or damaged (the readable part was shown), 4 writing to the
// disk failed.
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "lab/program/command_line.hpp"
#include "lab/trace/block_output.hpp"
#include "lab/trace/dump.hpp"
#include "lab/trace/reader.hpp"
#include "lab/trace/trace_set.hpp"

namespace {

using namespace millpond::trace;
namespace program = millpond::program;

int show(const std::string& path, bool events) {
    reader trace(path, sampled_traces::accepted);
    if (events)
        dump(trace, stdout);
    else
        dump_summary(trace, stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw std::system_error(errno, std::generic_category(), "stdout");
    for (const damage& known : trace.damages())
        program::say(path + ": damage at offset " + std::to_string(known.offset) + ": " + known.what);
    return trace.damages().empty() ? program::ok : program::input;
}

int index(const std::string& path) {
    for (const damage& left_out : rebuild_index(path))
        program::say(path + ": left out at offset " + std::to_string(left_out.offset) + ": " + left_out.what);
    return program::ok;
}

int list(const std::string& path, bool null) {
    const std::vector<trace_file> found = find_trace_set(path);
    if (found.empty()) throw trace_error("there is no trace " + path);
    for (const trace_file& file : found) std::printf("%s%c", file.path.c_str(), null ? '\0' : '\n');
    return program::ok;
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app("Shows a trace, or rebuilds its index.", "millpond-trace");
    std::string path;
    const auto add = [&](const char* name, const char* what) {
        program::option_list verb = app.verb(name, what);
        verb.option("TRACE", path, "the trace").required();
        return verb;
    };
    const program::option_list info_verb = add("info", "summarise the trace, without its events");
    const program::option_list dump_verb = add("dump", "write every record and event, a line each");
    const program::option_list index_verb = add("index", "rebuild the index; damaged stretches are left out");
    bool null = false;
    add("list", "list the traces of one recording: FILE, FILE.PID, FILE.PID.IMAGE")
        .flag("--null", null, "end each name with a zero byte instead of a newline, which names may contain");
    return program::guarded_main(app, argc, argv, [&] {
        if (info_verb.given() || dump_verb.given()) return show(path, dump_verb.given());
        return index_verb.given() ? index(path) : list(path, null);
    });
}
