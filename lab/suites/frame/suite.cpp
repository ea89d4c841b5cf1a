// SPDX-License-Identifier: BSL-1.0
#include "suite.hpp"

#include <new>
#include <optional>
#include <utility>

#include "command_line.hpp"
#include "lab/measure/event_request.hpp"
#include "lab/measure/named_events.hpp"
#include "lab/program/program.hpp"
#include "report.hpp"
#include "window.hpp"

namespace millpond::frame {
namespace {

using program::failure, program::print;

void print_line(const std::string& line) {
    print(line);
    print("\n");
}

// Effects: sets the point's contender to the one with this name or alias. Returns: whether its workload takes it.
bool find_contender(const suite& in, std::string_view name, point& asked) {
    asked.is_kept = name.ends_with(kept_suffix);
    if (asked.is_kept) name.remove_suffix(kept_suffix.size());
    const auto all = in.contenders();
    for (asked.contender = 0; asked.contender < all.size(); ++asked.contender) {
        const contender& each = all[asked.contender];
        if (each.name != name && each.alias != name) continue;
        if (!each.from->is_built_in)
            throw failure(program::environment, "this program was built without " + std::string(name) + ": install " +
                                                    std::string(each.from->name) + " and build it again");
        return asked.of->takes(asked.contender) && (!asked.is_kept || each.can_be_kept);
    }
    return false;
}

// Returns: what is wrong with the contender, or nothing.
std::string read_contender(const suite& in, const command_line& line, point& asked) {
    const auto all = in.contenders();
    if (find_contender(in, line.contender, asked)) {
        const bool needs_library = in.peer != nullptr && all[asked.contender].name == in.peer->contender;
        return needs_library && line.peer == nullptr ? "the contender adapter needs --peer LIBRARY" : "";
    }
    std::string known;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (asked.of->takes(i)) known.append(known.empty() ? "" : ", ").append(all[i].name);
    }
    return "no contender \"" + std::string(line.contender) + "\" of " + std::string(line.workload) +
           "; there are: " + known + (in.keep_chunks != nullptr ? " (peers with a source also as NAME:kept)" : "");
}

// Returns: what is wrong with the line, or nothing.
std::string read_point(const suite& in, const command_line& line, point& asked) {
    std::string known;
    for (const workload* each : in.workloads) {
        if (each->name == line.workload) asked.of = each;
        known.append(known.empty() ? "" : ", ").append(each->name);
    }
    if (asked.of == nullptr) return "no workload \"" + std::string(line.workload) + "\"; there are: " + known;
    if (line.peer != nullptr && in.peer == nullptr) return "--peer: this suite takes no library";
    if ((line.litter || line.counters || line.event_count > 0 || line.control) && !in.measures_windows())
        return "this suite measures in passes: it has no --litter, --counters, --event and --perf-control";
    if (line.pictures_heap && !line.litter)
        return "--picture-heap shows the heap that --litter leaves: give --litter, too";
    if (line.instructions > 0 && asked.of->counted_functions.empty())
        return "--instructions has no function to count in " + std::string(line.workload);
    asked.instructions = line.instructions;
    for (const std::string& wrong : {read_contender(in, line, asked), read_values(line, asked)}) {
        if (!wrong.empty()) return wrong;
    }
    return asked.of->misfit(asked);
}

// Litters the heap as a long run of this very workload would, the same for every contender.
void litter(const suite& in, const point& asked, double fraction, std::optional<measure::heap_litter>& blocks) {
    point once = asked;
    once.is_for_littering = true;
    in.note_blocks(once, blocks.emplace());
    blocks->hold();
    blocks->free_fraction(fraction, asked.seed());
}

// Effects: adds a series by line offset: the share of each line of a piece of the heap that the blocks hold.
void add_picture(const measure::heap_litter& blocks, outcome& to) {
    const measure::heap_litter::lines held = blocks.picture();
    for (std::size_t i = 0; i < held.size(); ++i)
        to.figures.push_back({"heap_taken:" + std::to_string(i * measure::heap_litter::line_bytes), held[i]});
}

// Effects: opens the counters that the line asks for. Returns: 0, or the exit status; the error has been reported.
int open_counters(const command_line& line, instruments& around) {
    static measure::event_request named;  // what it was answered outlives the counters
    if (line.counters) {
        for (const measure::named_event& each : measure::named_events()) named.add(each.generic.name.data());
    }
    std::vector<measure::event> raw;
    for (std::size_t i = 0; i < line.event_count; ++i) {
        if (const auto of = read_raw_event(line.events[i])) {
            raw.push_back(*of);
        } else if (line.counters && measure::find_named_event(line.events[i]) != nullptr) {
            throw failure(program::usage,
                          "--event " + std::string(line.events[i]) + " is already counted by --counters");
        } else {
            named.add(line.events[i]);
        }
    }
    if (const int status = named.ask(); status != 0) return status;
    std::vector<measure::event> events(named.answers().begin(), named.answers().end());
    events.insert(events.end(), raw.begin(), raw.end());
    if (!events.empty()) around.counters.emplace(std::move(events));
    return 0;
}

// Effects: runs the point, and prints its line. Throws: std::bad_alloc, failure. Returns: the exit status.
int run(const suite& in, const command_line& line, const point& asked) {
    instruments around;
    if (const int status = open_counters(line, around); status != 0) return status;
    around.control = line.control;
    if (line.peer != nullptr) in.peer->load(line.peer);
    if (asked.is_kept) in.keep_chunks();
    std::optional<measure::heap_litter> blocks;
    if (line.litter) litter(in, asked, *line.litter, blocks);
    if (in.prepare != nullptr) in.prepare(asked);
    in_use = &around;  // from now on around every window, but not around littering
    outcome measured = asked.of->run(asked);
    // The bytes that it kept after everything was freed.
    const auto held_bytes = asked.is_kept ? in.kept_bytes : in.contenders()[asked.contender].held_bytes;
    if (held_bytes != nullptr) measured.set_count("held_bytes", held_bytes());
    if (line.pictures_heap) add_picture(*blocks, measured);
    print_line(round_as_json(in, asked, measured));
    return 0;
}

int run_or_say_why_not(const suite& in, const command_line& line) {
    point asked;
    const std::string wrong = read_point(in, line, asked);
    if (!wrong.empty()) throw failure(program::usage, wrong);
    const char* why_not = "predicted_bad_alloc";
    if (!line.memory_limit_bytes || asked.of->least_bytes(asked) <= *line.memory_limit_bytes) {
        try {
            return run(in, line, asked);
        } catch (const std::bad_alloc&) {
            why_not = "bad_alloc";
        }
    }
    print_line(failure_as_json(in, asked, why_not));
    return 0;
}

}  // namespace

int run_suite(const suite& of, int argc, char** argv) {
    return program::guarded_main([&] {
        const command_line line = read_command_line(argc, argv);
        if (line.help || line.list) {
            line.help ? print(usage_of(of)) : print_line(list_as_json(of));
            return 0;
        }
        if (line.workload.empty() || line.contender.empty())
            throw failure(program::usage, "--workload and --contender are needed, or --list; see --help");
        return run_or_say_why_not(of, line);
    });
}

}  // namespace millpond::frame
