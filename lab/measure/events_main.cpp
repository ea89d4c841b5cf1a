// SPDX-License-Identifier: BSL-1.0
// millpond-events: lists the events that this machine's processor and kernel can count, by name.
#include <string>
#include <vector>

#include "lab/measure/abilities.hpp"
#include "lab/measure/event_choice.hpp"
#include "lab/measure/event_request.hpp"
#include "lab/measure/named_events.hpp"
#include "lab/program/command_line.hpp"
#include "lab/program/json.hpp"

namespace {

using namespace millpond::measure;
namespace program = millpond::program;
using program::json;

int resolve(const event_names& known, const std::vector<std::string>& names) {
    std::string lines;
    int status = program::ok;
    for (const std::string& name : names) {
        std::string wrong;
        const auto chosen = choose_event(known, name, wrong);
        if (!chosen) {
            status = program::fail(program::usage, wrong + "; `millpond-bench list events` lists all events");
            continue;
        }
        lines.append(answer_line(chosen->of, chosen->counted_as, chosen->why_null)).append("\n");
    }
    if (status == program::ok) program::print(lines);
    return status;
}

json named_as_json(const event_names& known, const named_event& each) {
    std::string wrong;
    const auto chosen = choose_event(known, std::string(each.generic.name), wrong);
    const count found = chosen->why_null.empty() ? try_event(chosen->of) : count{};
    const std::string why = chosen->why_null.empty() ? found.why_null : chosen->why_null;
    return program::json_object({{"name", each.generic.name},
                                 {"description", each.meaning},
                                 {"counted_as", chosen->counted_as.empty() ? json(nullptr) : json(chosen->counted_as)},
                                 {"available", found.value.has_value()},
                                 {"why_not", found.value ? json(nullptr) : json(why)}});
}

int list(const event_names& known) {
    json named = json::array();
    for (const named_event& each : named_events()) named.push_back(named_as_json(known, each));
    json events = json::array();
    known.for_each([&](const event_names::event_description& each) {
        json masks = json::array();
        for (const auto& mask : each.masks)
            masks.push_back(program::json_object({{"name", mask.name}, {"description", mask.meaning}}));
        events.push_back(
            program::json_object({{"name", each.name}, {"description", each.meaning}, {"unit_masks", masks}}));
    });
    const json all = program::json_object(
        {{"schema", "millpond.events/1"}, {"units", known.units()}, {"named", named}, {"events", events}});
    program::print(millpond::program::json_text(all, 1) + "\n");
    return program::ok;
}

}  // namespace

int main(int argc, char** argv) {
    program::command_line app{"Lists the events that this machine's processor and kernel can count, with their codes."};
    bool wants_list = false;
    bool wants_names = false;
    std::vector<std::string> names;
    program::option_list mode = app.exactly_one("mode", "what to do: exactly one");
    mode.flag("--list", wants_list, "list all events by name, as JSON; those that every machine has come first");
    mode.flag("--resolve", wants_names,
              "print a line for each name behind --: its code for the kernel, or why it is null");
    app.option("names", names, "such as MEM_LOAD_RETIRED:L3_MISS or llc_misses").value_name("NAME");
    app.footer("Exit status: 0 done, 2 usage or an unknown event, 4 the result cannot be written.");
    return program::guarded_main(app, argc, argv, [&] {
        const event_names known;
        return wants_names ? resolve(known, names) : list(known);
    });
}
