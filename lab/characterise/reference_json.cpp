// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/reference_json.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "lab/characterise/dvluc.hpp"
#include "lab/program/json.hpp"

namespace millpond::characterise {
namespace {

using attribution::attributed_run;

constexpr std::uint64_t line_bytes = 64;  // of footprints

json ratio_or_null(std::uint64_t part, std::uint64_t whole) {
    return whole > 0 ? json(static_cast<double>(part) / static_cast<double>(whole)) : json();
}

void add_counts(json& to, const attribution::miss_counts& counts) {
    to["references"] = counts.references;
    to["misses"] = counts.misses();
    to["cold"] = counts.cold;
    to["capacity"] = counts.capacity;
    to["conflict"] = counts.conflict;
    to["indirect"] = counts.indirect;
    to["fetched_bytes"] = counts.bytes.fetched;
    to["useful_bytes"] = counts.bytes.useful;
}

json work_json(const attribution::allocator_work& work) {
    return program::json_object({{"calls", work.calls},
                                 {"instructions", work.instructions},
                                 {"references", work.references},
                                 {"misses", work.misses}});
}

json cache_json(const attribution::cache_shape& shape) {
    constexpr const char* rules[] = {"lru", "fifo", "random"};
    return program::json_object({{"description", shape.description},
                                 {"bytes", shape.sets * shape.ways * shape.line_bytes},
                                 {"sets", shape.sets},
                                 {"ways", shape.ways},
                                 {"line_bytes", shape.line_bytes},
                                 {"replacement", rules[static_cast<std::size_t>(shape.rule)]}});
}

json map_json(const attribution::reference_map& map) {
    const attribution::reference_map::picture drawn = map.draw();
    if (drawn.rows.empty()) return nullptr;
    json rows = json::array(), cells = json::array();
    for (const auto& row : drawn.rows) {
        rows.push_back(program::json_object({{"first", row.first},
                                             {"bytes", row.bytes},
                                             {"gap_bytes", row.gap_bytes},
                                             {"place", name_of(static_cast<attribution::place>(row.place))}}));
    }
    for (const auto& cell : drawn.cells)
        cells.push_back(json::array({cell.row, cell.column, cell.references, cell.misses}));
    return program::json_object({{"granule_bytes", drawn.granule_bytes},
                                 {"column_instructions", map.column_instructions()},
                                 {"columns", attribution::reference_map::columns},
                                 {"rows", std::move(rows)},
                                 {"cells", std::move(cells)}});
}

json affinity_json(const characterisation& all) {
    const attribution::affinity& found = all.references()->together();
    if (found.rows() == 0) return nullptr;
    json rows = json::array(), cells = json::array();
    for (unsigned a = 0; a < found.rows(); ++a) {
        rows.push_back(program::json_object(
            {{"name", all.subsystems().subsystems()[found.subject(a)].name}, {"visits", found.visits(a)}}));
        for (unsigned b = 0; b < found.rows(); ++b) {
            const auto met = found.met(a, b);
            if (met.together > 0) cells.push_back(json::array({a, b, met.together, met.near}));
        }
    }
    return program::json_object({{"window_objects", attribution::affinity::window_objects},
                                 {"near_bytes", attribution::affinity::near_bytes},
                                 {"rows", std::move(rows)},
                                 {"cells", std::move(cells)}});
}

// The number of misses of the simulated cache.
std::uint64_t misses_of(const attributed_run& run) {
    std::uint64_t sum = 0;
    for (unsigned where = 0; where < attribution::places; ++where)
        sum += run.of_place(static_cast<attribution::place>(where)).misses();
    return sum;
}

struct locality_figures {
    std::uint64_t accesses, lines, transitions;

    explicit locality_figures(const attributed_run& run, std::uint32_t subsystem)
        : accesses(run.of_subject(subsystem).references),
          lines(run.footprint_of(subsystem).lines),
          transitions(run.transitions(subsystem)) {}

    json value() const {
        if (accesses == 0) return nullptr;
        return locality(static_cast<double>(accesses), static_cast<double>(lines), static_cast<double>(transitions));
    }
    json ratio() const { return ratio_or_null(accesses, lines * transitions); }
};

}  // namespace

json references_json(const characterisation& all) {
    if (all.references() == nullptr) return nullptr;
    const attributed_run& run = *all.references();
    json places = json::array();
    std::uint64_t program_misses = 0, indirect = 0;
    for (unsigned i = 0; i < attribution::places; ++i) {
        const auto where = static_cast<attribution::place>(i);
        const attribution::miss_counts counts = run.of_place(where);
        json one = program::json_object({{"place", name_of(where)}});
        add_counts(one, counts);
        places.push_back(std::move(one));
        if (where == attribution::place::allocator || where == attribution::place::system) continue;
        program_misses += counts.misses();
        indirect += counts.indirect;
    }
    const attribution::attribution_totals& totals = run.totals();
    json notes = json::array();
    notes.push_back(
        "L = I / (I + M * T): I references to the subsystem's objects, M lines of 64 bytes that their touched bytes "
        "lay "
        "on when those were most, T transitions to another subsystem's objects (P0089R0, 5.3, as l / (1 + l))");
    notes.push_back(
        "unknown memory is that of mmap and of the loader, thread-local variables of the first thread, what lies "
        "behind "
        "an object's end, and objects that are freed");
    if (!run.knows_regions())
        notes.push_back("the recording does not say where stacks and global variables lie: they are unknown memory");
    json damages = json::array();
    for (const trace::damage& damage : all.reference_damages())
        damages.push_back(program::json_object({{"offset", damage.offset}, {"what", damage.what}}));
    return program::json_object(
        {{"references", totals.references},
         {"instructions", totals.instructions},
         {"allocator_instructions", totals.allocator_instructions},
         {"instructions_not_captured", totals.not_captured},
         {"instruction_share", ratio_or_null(totals.allocator_instructions, totals.instructions)},
         {"cache", cache_json(run.shape())},
         {"misses", program::json_object({{"program", program_misses},
                                          {"allocator", run.of_place(attribution::place::allocator).misses()},
                                          {"system", 0},
                                          {"indirect", indirect}})},
         {"places", std::move(places)},
         {"allocator", work_json(run.work_for_unknown())},
         {"affinity", affinity_json(all)},
         {"map", map_json(run.map())},
         {"damages", std::move(damages)},
         {"notes", std::move(notes)}});
}

json references_json(const characterisation& all, std::uint32_t subsystem) {
    if (all.references() == nullptr) return nullptr;
    const attributed_run& run = *all.references();
    const attribution::miss_counts counts = run.of_subject(subsystem);
    const attribution::footprint footprint = run.footprint_of(subsystem);
    const attribution::allocator_work work = run.work_for(subsystem);
    const locality_figures figures(run, subsystem);
    json one;
    add_counts(one, counts);
    one["transitions"] = figures.transitions;
    one["lines"] = figures.lines;
    one["lines_packed"] = (footprint.packed_bytes + line_bytes - 1) / line_bytes;
    one["lines_touched"] = footprint.lines_touched;
    one["locality"] = figures.value();
    one["ratio"] = figures.ratio();
    one["miss_share"] = ratio_or_null(counts.misses(), misses_of(run));
    one["useful_share"] = ratio_or_null(counts.bytes.useful, counts.bytes.fetched);
    one["instruction_share"] = ratio_or_null(work.instructions, run.totals().instructions);
    one["allocator"] = work_json(work);
    return one;
}

json counted_density_json(const characterisation& all, std::uint32_t subsystem) {
    std::uint64_t own = 0, whole = 0;
    for (const attribution::allocator_work& each : all.references()->work_by_thread(subsystem)) {
        own += each.instructions;
        whole += each.own.length();
    }
    json density = program::json_object(
        {{"value", ratio_or_null(own, whole)},
         {"kind", "counted"},
         {"method", "references"},
         {"absolute", program::json_object({{"allocator_instructions", own}, {"instructions", whole}})}});
    if (whole == 0) density["why_null"] = "no instruction of its operations was captured";
    return density;
}

json counted_contention_json(const characterisation& all, std::uint32_t subsystem) {
    const std::vector<attribution::allocator_work> works = all.references()->work_by_thread(subsystem);
    std::uint64_t busiest = 0;
    for (const attribution::allocator_work& each : works) busiest = std::max(busiest, each.calls);
    std::vector<thread_activity> working;
    for (const attribution::allocator_work& each : works) {
        if (!is_working(each.calls, busiest) || each.own.length() == 0) continue;
        working.push_back({static_cast<double>(each.all.first), static_cast<double>(each.all.last),
                           share_of(static_cast<double>(each.instructions), static_cast<double>(each.own.length()))});
    }
    const double at_once = working.size() < 2 ? 0.0 : threads_inside_at_once(working);
    const auto threads = static_cast<double>(working.size());
    json contention = program::json_object(
        {{"value", working.empty() ? json() : json(at_once / threads)},
         {"kind", "counted"},
         {"absolute", program::json_object({{"threads_inside", at_once}, {"threads", working.size()}})}});
    if (working.empty()) contention["why_null"] = "no instruction of its operations was captured";
    return contention;
}

json locality_json(const characterisation& all, std::uint32_t subsystem) {
    const locality_figures figures(*all.references(), subsystem);
    json dimension = program::json_object({{"value", figures.value()},
                                           {"kind", "counted"},
                                           {"absolute", program::json_object({{"accesses", figures.accesses},
                                                                              {"lines", figures.lines},
                                                                              {"transitions", figures.transitions},
                                                                              {"ratio", figures.ratio()}})}});
    if (figures.accesses == 0) dimension["why_null"] = "the program never referred to its objects";
    return dimension;
}

}  // namespace millpond::characterise
