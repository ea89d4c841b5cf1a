// SPDX-License-Identifier: BSL-1.0
#include "lab/references/summary.hpp"

#include <array>
#include <set>

#include "lab/program/json.hpp"
#include "lab/references/reader.hpp"
#include "lab/trace/wholeness.hpp"

namespace millpond::references {

namespace {

using program::json;
constexpr std::size_t origins = 3, kinds = 3, records = millpond_first_exit;

struct origin_counts {
    std::array<std::array<std::uint64_t, kinds>, origins> references{};
    std::array<std::uint64_t, origins> instructions{};
    std::array<std::uint64_t, records> events{};
    std::uint64_t not_captured = 0;  // instructions in gaps
    std::set<std::uint64_t> threads;
};

origin_counts count(reader& from) {
    origin_counts sum;
    step one;
    while (from.next(one)) {
        for (const millpond_reference& r : one.references) ++sum.references[r.origin][r.kind];
        sum.threads.insert(one.thread);
        sum.instructions[one.in_allocator ? millpond_of_allocator : millpond_of_program] += one.instructions;
        if (one.event.record != millpond_record_signal || one.event.operands[0] != 0) ++sum.events[one.event.record];
        if (one.event.record == millpond_record_gap) sum.not_captured += one.event.operands[0];
    }
    return sum;
}

json of_origin(const origin_counts& sum, unsigned origin) {
    const auto& of = sum.references[origin];
    json result = program::json_object(
        {{"loads", of[millpond_load]}, {"stores", of[millpond_store]}, {"modifies", of[millpond_modify]}});
    if (origin != millpond_of_system) result["instructions"] = sum.instructions[origin];
    return result;
}

}  // namespace

std::string summarize(const std::string& path, bool& is_whole) {
    reader from(path);
    const origin_counts sum = count(from);
    const reference_totals totals = from.totals();
    json result;
    result["format"] = "millpond.references/1";
    result["executable"] = from.trace().process().executable;
    result["program"] = of_origin(sum, millpond_of_program);
    result["allocator"] = of_origin(sum, millpond_of_allocator);
    result["system"] = of_origin(sum, millpond_of_system);
    result["references"] = totals.references;
    result["instructions"] = totals.instructions;
    result["instructions_not_captured"] = sum.not_captured;
    result["allocations"] = sum.events[millpond_record_allocate];
    result["frees"] = sum.events[millpond_record_free];
    result["allocator_calls"] = sum.events[millpond_record_enter];
    result["signals"] = sum.events[millpond_record_signal];
    result["threads"] = sum.threads.size();
    result["words"] = totals.words;
    result["stored_bytes"] = totals.stored_bytes;
    result["bytes_per_reference"] =
        totals.references == 0 ? 0.0
                               : static_cast<double>(totals.stored_bytes) / static_cast<double>(totals.references);
    const std::string partial = trace::partial_reason(from.trace().process());
    result["partial"] = partial.empty() ? json() : json(partial);
    result["damages"] = json::array();
    for (const trace::damage& known : from.damages())
        result["damages"].push_back(program::json_object({{"offset", known.offset}, {"what", known.what}}));
    is_whole = from.damages().empty();
    trace::require_whole(path, from.damages(), true);
    return program::json_text(result) + "\n";
}

}  // namespace millpond::references
