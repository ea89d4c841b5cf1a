// SPDX-License-Identifier: BSL-1.0
// millpond-simulate: simulates caches, memories and translation buffers on the data references of a program.
//
//   millpond-simulate [--simulate DESCRIPTION …] [--format recording|din|lackey] [--json FILE] [--write-din FILE]
//                     [--penalty CYCLES,…] [--latencies FILE|measure] [--cpi CYCLES] REFERENCES
//   millpond-simulate --measure [--simulate DESCRIPTION …] [REFERENCES]
//
// REFERENCES is a recording of Millpond, or text in the format of Dinero or of Valgrind's lackey; "-" reads text from
// standard input.
// Exit status: 0 done · 2 usage, or a wrong description · 3 references missing or damaged · 4 a file cannot be written,
// or no memory.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/plan/json_seal.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"
#include "lab/simulate/burst_sample.hpp"
#include "lab/simulate/din_writer.hpp"
#include "lab/simulate/latencies.hpp"
#include "lab/simulate/level_time.hpp"
#include "lab/simulate/mixed_source.hpp"
#include "lab/simulate/recording_source.hpp"
#include "lab/simulate/results.hpp"
#include "lab/simulate/running_simulation.hpp"
#include "lab/simulate/speed.hpp"
#include "lab/simulate/text_source.hpp"
#include "lab/simulate/time_model.hpp"
#include "lab/trace/wholeness.hpp"

namespace {

using namespace millpond::simulate;
namespace program = millpond::program;

struct command_line {
    std::vector<std::string> descriptions;
    std::string references, played, format = "automatic", straddling = "once", modification = "once";
    std::string instructions = "best", json, din;
    std::vector<double> penalties = usual_penalty_sweep();
    std::string latencies;
    double cycles_per_instruction = 1;
    std::optional<machine_latencies> machine;
    millpond_rules rules = {};
    text_options text;
    bool measures = false, with_system = false, accepts_damaged = false;
    speed_request speed;
};

// Five direct-mapped caches, 56 set-associative ones, and memories of 4 KiB pages of every size.
const std::vector<std::string> usual_descriptions = {"direct:line=32,size=16K/32K/64K/128K/256K",
                                                     "lru:line=32,sets=64-4096,ways=8", "distances:line=4K"};

void declare_rules(program::command_line& app, command_line& line) {
    const std::vector<std::string> counted = {"once", "twice"};
    app.option("--straddle", line.straddling,
               "count an access to two lines as one reference that misses once, or as two")
        .one_of(counted)
        .shows_default();
    app.option("--modify", line.modification, "count a modification as one reference, or as a load and a store")
        .one_of(counted)
        .shows_default();
    app.option("--bytes-max", line.rules.bytes_max,
               "count an access of more than N bytes as one of N (Cachegrind: N is the line)")
        .within(0, 65535);
    app.option("--flush-references", line.rules.flush_references, "empty all caches every N references");
    app.option("--flush-instructions", line.rules.flush_instructions, "empty all caches every N instructions");
    app.option("--instruction-set", line.instructions, "use at most these vector instructions")
        .one_of({"portable", "avx2", "avx512", "best"})
        .shows_default();
}

void declare(program::command_line& app, command_line& line) {
    app.option("references", line.references, "read this recording or text; \"-\" is standard input")
        .value_name("REFERENCES");
    app.option("-s,--simulate", line.descriptions,
               "add a simulator, KIND:KEY=VALUE,…; KIND is direct, lru, fifo, random, distances, sampled, levels, "
               "tlb, attributed or contents (default: five direct-mapped caches, 56 LRU caches, page memories of all "
               "sizes)")
        .value_name("DESCRIPTION")
        .repeated()
        .one_argument();
    declare_rules(app, line);
    app.option("--format", line.format, "the format of REFERENCES")
        .one_of({"automatic", "din", "lackey", "recording"})
        .shows_default();
    app.option("--bytes", line.text.bytes_default, "the size of an access whose din line gives none")
        .within(1, 4096)
        .shows_default();
    app.option("--penalty", line.penalties,
               "the cost of a miss in the time model, in cycles; several are separated by commas")
        .separated_by(',')
        .one_argument()
        .not_negative()
        .shows_default();
    app.option("--latencies", line.latencies,
               "also estimate the time with all cache levels: those of `-s levels:`, else the machine's; with the "
               "latencies in FILE (from `millpond doctor -o FILE.json`); measure: measure this machine now")
        .value_name("FILE|measure");
    app.option("--cpi", line.cycles_per_instruction, "with --latencies: cycles per instruction")
        .not_negative()
        .shows_default();
    app.option("--json", line.json,
               "write the results to FILE as JSON (\"-\": to standard output, instead of the table)")
        .value_name("FILE");
    app.option("--write-din", line.din, "also write the references as din text").value_name("FILE");
    app.option("--played", line.played,
               "move the references of a recording to where they would be on another allocator: the one on which "
               "PLAYED was captured from millpond-player")
        .value_name("PLAYED");
    app.flag("--with-system", line.with_system, "for a recording: also count what system calls read and wrote");
    app.flag(millpond::trace::damaged_option, line.accepts_damaged, millpond::trace::damaged_help);
    app.flag("--measure", line.measures,
             "measure the speed of each simulator in references a second; without REFERENCES, on generated ones");
    app.option("--measure-references", line.speed.references_max,
               "with --measure: keep at most this many references in memory")
        .within(1, 1 << 28)
        .shows_default();
    app.option("--measure-rounds", line.speed.rounds, "with --measure: take the median of this many rounds")
        .within(1, 1000)
        .shows_default();
}

template <class Value>
Value one_of(const std::string& word, const std::vector<std::string>& words) {
    return static_cast<Value>(std::find(words.begin(), words.end(), word) - words.begin());
}

// Adds the simulators of the machine's caches, unless the command line describes levels itself.
void settle_latencies(command_line& line) {
    line.machine = line.latencies == "measure" ? measured_latencies() : read_latencies(line.latencies);
    for (const std::string& one : line.descriptions) {
        if (one.rfind("levels", 0) == 0) return;
    }
    const std::vector<std::string> own = machine_descriptions(*line.machine);
    if (own.empty())
        throw program::failure(program::usage, line.machine->from +
                                                   " names no caches; describe them: --simulate "
                                                   "levels:line=64,size=32K/1M,ways=8/16");
    line.descriptions.insert(line.descriptions.end(), own.begin(), own.end());
}

void settle(command_line& line) {
    line.rules.straddle_twice = line.straddling == "twice";
    line.rules.modify_twice = line.modification == "twice";
    line.rules.instruction_set_max = one_of<std::uint8_t>(line.instructions, {"best", "portable", "avx2", "avx512"});
    if (line.format != "recording") line.text.format = one_of<text_format>(line.format, {"automatic", "din", "lackey"});
    line.text.instructions_max = line.rules.flush_instructions;
    if (line.descriptions.empty()) line.descriptions = usual_descriptions;
    if (!line.latencies.empty()) settle_latencies(line);
    if (line.references.empty() && !line.measures)
        throw program::failure(program::usage, "name the references to read, or --measure; see --help");
}

void show(const command_line& line, const program::json& document, const std::string& table) {
    if (line.json != "-") program::print(table);
    if (line.json.empty()) return;
    program::write_or_print(line.json, millpond::plan::sealed_text(program::json_text(document)));
}

std::unique_ptr<reference_source> open_source(const command_line& line) {
    if (line.references.empty()) return std::make_unique<mixed_source>();
    if (line.format == "recording" || (line.format == "automatic" && is_recording(line.references)))
        return std::make_unique<recording_source>(line.references, line.with_system, line.played);
    return std::make_unique<text_source>(line.references, line.text);
}

void measure(const command_line& line) {
    const std::unique_ptr<reference_source> source = open_source(line);
    const auto speeds = speed_json(*source, line.descriptions, line.rules, line.speed);
    source->damages(line.accepts_damaged);
    show(line, speeds, speed_table(speeds));
}

void add(input_facts& facts, const reference_batch& batch) {
    for (std::size_t i = 0; i < batch.count; ++i) {
        facts.stores += batch.references[i].kind == millpond_store;
        facts.modifications += batch.references[i].kind == millpond_modify;
    }
    facts.loads += batch.count;
    facts.instructions += batch.instructions;
    if (batch.in_allocator) facts.allocator_instructions += batch.instructions;
}

void show_results(const command_line& line, const std::vector<millpond::references::simulator_counts>& counts,
                  const input_facts& facts, const millpond_rules& rules, const burst_sample* sample = nullptr) {
    auto document = results_json(counts, facts, rules, line.penalties, sample);
    std::string table = results_table(document);
    if (line.machine) {
        document["level_times"] =
            level_times_json(counts, facts.instructions, *line.machine, line.cycles_per_instruction);
        if (document["level_times"].empty())
            throw program::failure(program::usage, line.references +
                                                       " has no counts of `levels:` simulators: capture it with "
                                                       "--simulate levels:line=64,size=32K/1M,ways=8/16");
        table += level_times_table(document["level_times"]);
    }
    show(line, document, table);
}

// Shows the counts that simulators made while the program ran; `line` cannot change them any more.
void show_counts(const command_line& line, const millpond::references::counts& known) {
    const auto [loads, stores, modifications] = known.references;
    input_facts facts;
    facts.path = line.references;
    facts.format = "counts";
    facts.instructions = known.instructions;
    facts.allocator_instructions = known.allocator_instructions;
    facts.loads = loads;
    facts.stores = stores;
    facts.modifications = modifications;
    facts.damages = known.damages;
    facts.partial = known.partial;
    show_results(line, known.simulators, facts, known.rules);
}

void simulate(const command_line& line) {
    if (line.format != "din" && line.format != "lackey" && is_recording(line.references)) {
        if (const auto known = millpond::references::read_counts(line.references, line.accepts_damaged)) {
            if (!line.played.empty())
                throw program::failure(program::usage, line.references +
                                                           " has only counts, but --played needs the references; "
                                                           "capture them without --simulate");
            show_counts(line, *known);
            return;
        }
    }
    const running_simulation simulation(line.rules, line.descriptions);
    const std::unique_ptr<reference_source> source = open_source(line);
    std::unique_ptr<din_writer> din;
    if (!line.din.empty()) din = std::make_unique<din_writer>(line.din);
    input_facts facts;
    facts.path = line.references;
    burst_sample sample(line.rules, line.descriptions);
    for (reference_batch batch; source->next(batch);) {
        simulation.take(batch);
        sample.take(batch);
        if (batch.skipped != 0) sample.skip(simulation.get(), batch.skipped);
        add(facts, batch);
        if (din) din->take(batch.references, batch.count);
    }
    facts.damages = source->damages(line.accepts_damaged);
    if (facts.loads + facts.instructions == 0 && !line.references.empty() && line.references != "-")
        throw program::failure(program::input, line.references + " holds no references");
    facts.partial = source->partial();
    facts.loads -= facts.stores + facts.modifications;
    facts.format = source->format_name();
    facts.played = line.played;
    facts.moved = source->moved();
    if (din) din->commit();
    sample.end(simulation.get());
    show_results(line, counts_of(simulation.get()), facts, line.rules,
                 sample.instructions_not_captured() == 0 ? nullptr : &sample);
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app{
        "Simulates caches, memories and translation buffers with the data references of a program.",
        "millpond-simulate", " (--help lists the options)"};
    command_line line;
    declare(app, line);
    return program::guarded_main(app, argc, argv, [&] {
        settle(line);
        line.measures ? measure(line) : simulate(line);
        return program::ok;
    });
}
