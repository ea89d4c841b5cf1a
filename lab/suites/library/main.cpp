// SPDX-License-Identifier: BSL-1.0
// millpond-library-suite: one workload by one allocator, one round in a fresh process, one line of JSON.
//
//   millpond-library-suite --list
//   millpond-library-suite --workload W --contender C [--size N] [--af N] [--sf N] [--threads N] [--seed S]
//                          [--scale-units N] [--peer LIBRARY] [--instructions N]
//
// The conductor interleaves rounds of all contenders, puts mallocs below `malloc` by LD_PRELOAD, and judges. Cells run
// out of memory with "status": "bad_alloc" and exit status 0. Exit status: 0 done · 2 usage, an unknown name · 3 a
// peer's library that is missing or damaged · 4 a contender that this program was built without.
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "adapter.hpp"
#include "command_line.hpp"
#include "contender_table.hpp"
#include "ideal.hpp"
#include "lab/suites/common/ending.hpp"
#include "millpond/block/chunk_cache.hpp"
#include "report.hpp"
#include "upstream.hpp"
#include "workload.hpp"

namespace {

using namespace millpond::suites;

const workload* find_workload(std::string_view name) {
    for (const workload* each : all_workloads()) {
        if (each->name == name) return each;
    }
    return nullptr;
}

const contender_facts* find_facts(std::string_view name) {
    for (const contender_facts& each : all_contenders()) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

std::string known_workloads() {
    std::string names;
    for (const workload* each : all_workloads()) names += (names.empty() ? "" : ", ") + std::string(each->name);
    return names;
}

std::string known_contenders(const workload& of) {
    std::string names;
    for (const entry& each : of.contenders()) names += (names.empty() ? "" : ", ") + std::string(each.contender);
    return names;
}

// The name without ":kept"; the hardened twin knows its contenders by their plain names, too.
std::string base_name(std::string_view name, bool& kept) {
    kept = name.ends_with(kept_suffix);
    if (kept) name.remove_suffix(kept_suffix.size());
    std::string found(name);
    if (find_facts(found) == nullptr && find_facts(found + std::string(hardened_suffix)) != nullptr) {
        found += hardened_suffix;
    }
    return found;
}

// What the pools kept, once everything was freed.
void note_held(const contender_facts& facts, bool kept, outcome& measured) {
    if (kept || facts.kind == "ours") {
        measured.held_bytes = millpond::chunk_cache::held_bytes();
    } else if (facts.kind == "ideal") {
        measured.held_bytes = ideal_bump::held_bytes();
    }
}

int run(cell asked) {
    const workload* const wanted = find_workload(asked.workload);
    if (wanted == nullptr) {
        return fail(2, "no workload \"" + std::string(asked.workload) + "\"; there are: " + known_workloads());
    }
    bool kept = false;
    const std::string name = base_name(asked.contender, kept);
    const contender_facts* const facts = find_facts(name);
    if (facts != nullptr && !was_built_with(facts->from)) {
        return fail(4, "this program was built without " + name + ": install " +
                           std::string(package_name(facts->from)) + " and build it again");
    }
    cell_runner runner = nullptr;
    for (const entry& each : wanted->contenders()) {
        if (each.contender == name) runner = each.run;
    }
    if (runner == nullptr || facts == nullptr || (kept && !facts->can_be_kept)) {
        return fail(2, "no contender \"" + std::string(asked.contender) + "\" of " + std::string(wanted->name) +
                           "; there are: " + known_contenders(*wanted) + " (peers with a source also as NAME:kept)");
    }
    if (name == "adapter" && asked.peer == nullptr) return fail(2, "the contender adapter needs --peer LIBRARY");
    if (asked.instructions > 0 && wanted->counted_function.empty()) {
        return fail(2, "--instructions counts nothing in " + std::string(wanted->name));
    }
    if (asked.size == 0 && !wanted->sizes.empty()) asked.size = wanted->sizes[0];
    if (asked.threads == 0) asked.threads = wanted->takes("threads") ? 2 : 1;
    if (asked.peer != nullptr) load_adapter(asked.peer);
    if (kept) keep_chunks_of_peers();
    const std::string full_name = name + std::string(kept ? kept_suffix : "");
    asked.contender = full_name;
    try {
        outcome measured = runner(asked);
        note_held(*facts, kept, measured);
        return print(cell_as_json(*wanted, asked, measured));
    } catch (const std::bad_alloc&) {
        return print(bad_alloc_as_json(asked));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const command_line line = read_command_line(argc, argv);
    if (!line.error.empty()) return fail(2, line.error + "; see --help");
    if (line.help) return std::fputs(usage, stdout) < 0 ? 4 : 0;
    try {
        if (line.list) return print(list_as_json());
        if (line.asked.workload.empty() || line.asked.contender.empty()) {
            return fail(2, "--workload and --contender are needed, or --list; see --help");
        }
        return run(line.asked);
    } catch (const adapter_error& error) {
        return fail(3, error.what());
    } catch (const std::exception& error) {
        return fail(4, error.what());
    }
}
