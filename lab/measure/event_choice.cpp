// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/event_choice.hpp"

#include "lab/measure/abilities.hpp"

namespace millpond::measure {
namespace {

constexpr const char* no_event = "the kernel has no generic event for it, and libpfm no event of this processor";

}  // namespace

chosen_event choose_named(const event_names& known, const named_event& wanted) {
    const bool generic = wanted.has_generic();
    if (generic && try_event(wanted.generic).value) return {wanted.generic, std::string(wanted.generic_name), ""};
    for (const char* const alternative : wanted.alternatives) {
        const event_names::meaning found = known.find(alternative);
        const auto* const here = std::get_if<known_event>(&found);
        if (here != nullptr && try_event(here->of).value) return {here->of, here->full_name, ""};
    }
    return {wanted.generic, std::string(wanted.generic_name), generic ? "" : no_event};
}

std::optional<chosen_event> choose_event(const event_names& known, const std::string& name, std::string& wrong) {
    if (const named_event* const named = find_named_event(name)) return choose_named(known, *named);
    event_names::meaning found = known.find(name);
    if (auto* const here = std::get_if<known_event>(&found)) return chosen_event{here->of, here->full_name, ""};
    if (auto* const elsewhere = std::get_if<event_elsewhere>(&found)) return chosen_event{{}, "", elsewhere->why};
    wrong = std::get<unknown_event>(found).what;
    return std::nullopt;
}

}  // namespace millpond::measure
