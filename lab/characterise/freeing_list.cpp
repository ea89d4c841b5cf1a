// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/freeing_list.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "lab/symbols/demangle.hpp"
#include "lab/symbols/owner.hpp"

namespace millpond::characterise {
namespace {

bool is_library_function(std::string_view name) {
    return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("operator delete") ||
           name.starts_with("operator new");
}

std::uint64_t sum_of(const freeing_count& count) { return count.frees + count.resizes; }

}  // namespace

freeing_list::freeing_list(const characterisation& all, module_debug& debug) : all_(all), debug_(debug) {
    std::map<std::uint32_t, walk> known;
    all.counts().freeings().for_each([&](std::uint32_t context, std::uint32_t subsystem, const freeing_count& count) {
        auto entry = known.find(context);
        if (entry == known.end()) entry = known.emplace(context, look_at(context)).first;
        const walk& found = entry->second;
        const auto add = [&](counts& to) {
            to[subsystem].frees += count.frees;
            to[subsystem].resizes += count.resizes;
        };
        place_sum& place = places_[key_of(found.at) + "|" + found.through];
        place.at = found.at;
        place.through = found.through;
        add(place.of);
        if (found.caller.function.empty()) return;
        caller_sum& caller = place.callers[key_of(found.caller)];
        caller.at = found.caller;
        add(caller.of);
    });
}

// From the innermost function outward: the library's own, the first other one, and the next of another name.
freeing_list::walk freeing_list::look_at(std::uint32_t context) {
    const symbols::context_functions& functions = all_.functions();
    walk found;
    const auto take = [&](std::string name, bool is_library, symbols::source_place place,
                          symbols::source_language language) {
        if (found.at.function.empty()) {
            if (is_library)
                found.through = std::move(name);
            else
                found.at = {std::move(name), std::move(place), std::move(language)};
        } else if (!is_library && name != found.at.function) {
            found.caller = {std::move(name), std::move(place), std::move(language)};
        }
        return !found.caller.function.empty();
    };
    for (std::uint32_t at = context; at != 0; at = functions.node(at).parent) {
        const trace::context_node& node = functions.node(at);
        const std::uint32_t id = functions.function_of(at);
        const bool is_standard = functions.in_standard_module(at);
        const std::string name = id != symbols::context_functions::none ? functions.function(id).name : std::string();
        symbols::debug_info* const debug = is_standard ? nullptr : debug_.of(node.module);
        // The place is the `delete` that calls it.
        const bool passes_on = functions.in_deleting_destructor(at) && found.at.function.empty();
        bool done = false, has_own_name = false;
        if (debug != nullptr) {
            for (const symbols::debug_frame& frame : module_debug::inlined_at(*debug, node.offset)) {
                has_own_name = has_own_name || !frame.inlined;
                if (!frame.inlined && passes_on) continue;
                std::string known = frame.symbol.empty() ? symbols::own_demangled(frame.function).name
                                                         : symbols::own(frame.symbol).name;
                if (!frame.inlined && !name.empty()) known = name;
                if (known.empty()) continue;
                const bool is_library = is_library_function(known) || module_debug::is_library_source(frame.place.file);
                done = take(known, is_library, frame.place, debug->language(frame));
                if (done) break;
            }
        }
        if (!done && !has_own_name && !name.empty() && !passes_on)
            done = take(name, is_standard || is_library_function(name), {}, {});
        if (done) break;
    }
    if (found.at.function.empty()) {
        found.at.function = found.through.empty() ? all_.frame_name(context) : found.through;
        found.through.clear();
    }
    return found;
}

std::string freeing_list::key_of(const source_call& call) {
    return call.function + "|" + call.place.file + "|" + std::to_string(call.place.line);
}

std::uint64_t freeing_list::own(const counts& of, std::uint32_t subsystem) {
    const auto found = of.find(subsystem);
    return found != of.end() ? sum_of(found->second) : 0;
}

std::uint64_t freeing_list::others(const counts& of, std::uint32_t subsystem) {
    std::uint64_t sum = 0;
    for (const auto& [other, count] : of)
        if (other != subsystem) sum += sum_of(count);
    return sum;
}

json freeing_list::call_json(const source_call& call, const counts& of, std::uint32_t subsystem) {
    const freeing_count& count = of.at(subsystem);
    return program::json_object({{"function", symbols::cut_name(call.function)},
                                 {"file", call.place.file},
                                 {"line", call.place.line},
                                 {"language", call.language.name},
                                 {"standard", call.language.standard},
                                 {"frees", count.frees},
                                 {"resizes", count.resizes},
                                 {"of_others", others(of, subsystem)}});
}

json freeing_list::of(std::uint32_t subsystem) const {
    const auto ordered = [&](const auto& sums) {
        std::multimap<std::uint64_t, const typename std::decay_t<decltype(sums)>::mapped_type*, std::greater<>> order;
        for (const auto& [key, sum] : sums)
            if (own(sum.of, subsystem) > 0) order.emplace(own(sum.of, subsystem), &sum);
        return order;
    };
    json list = json::array();
    for (const auto& [count, place] : ordered(places_)) {
        if (list.size() == places_max) break;
        json one = call_json(place->at, place->of, subsystem);
        one["through"] = place->through.empty() ? json() : json(symbols::cut_name(place->through));
        one["callers"] = json::array();
        for (const auto& [of_caller, caller] : ordered(place->callers)) {
            if (one["callers"].size() == callers_max) break;
            one["callers"].push_back(call_json(caller->at, caller->of, subsystem));
        }
        list.push_back(std::move(one));
    }
    return list;
}

std::uint64_t freeing_list::left_out(std::uint32_t subsystem) const {
    std::vector<std::uint64_t> each;
    each.reserve(places_.size());
    for (const auto& [key, place] : places_) each.push_back(own(place.of, subsystem));
    std::sort(each.begin(), each.end(), std::greater<>());
    return std::accumulate(each.begin() + static_cast<std::ptrdiff_t>(std::min(places_max, each.size())), each.end(),
                           std::uint64_t{0});
}

}  // namespace millpond::characterise
