// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/container_list.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "lab/characterise/known_walks.hpp"
#include "lab/characterise/outward_walk.hpp"
#include "lab/program/json.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/symbols/container_name.hpp"
#include "lab/symbols/demangle.hpp"
#include "lab/symbols/owner.hpp"
#include "lab/symbols/rust_name.hpp"

namespace millpond::characterise {
namespace {

constexpr std::size_t source_bytes_max = 8 << 20;
constexpr std::size_t places_max = 3, members_max = 8;

std::string readable(std::string_view symbol) {
    std::string name = symbols::demangled(symbol);
    return name.empty() ? std::string(symbol) : name;
}

bool is_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

bool has_word(const std::string& line, const std::string& word) {
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
        const std::size_t past = at + word.size();
        if ((at == 0 || !is_word(line[at - 1])) && (past == line.size() || !is_word(line[past]))) return true;
    }
    return false;
}

}  // namespace

struct container_list::found {
    json members;
    std::string type, element_of;  // no type: not a container, or unknown
    std::string call;              // the function that the owner calls, if there is no container
    std::string why;               // the reason why there is no type
    std::string function;          // the owner's
    std::string why_no_place;      // the reason why there is no debug information
    symbols::source_place place;
    symbols::debug_info* debug = nullptr;
    symbols::debug_frame frame{};
};

container_list::found container_list::look_at(std::uint32_t context, bool with_debug_information, std::uint32_t& end) {
    const symbols::context_functions& functions = all_.functions();
    outward_walk walk;
    bool ended = false;
    std::uint32_t last = context;
    for (std::uint32_t at = context; at != 0 && !ended; at = functions.node(at).parent) {
        const trace::context_node& node = functions.node(at);
        last = at;
        const std::uint32_t id = functions.function_of(at);
        if (id == symbols::context_functions::none) {
            ended = !functions.in_standard_module(at);
            continue;
        }
        const symbols::frame_function& function = functions.function(id);
        symbols::debug_info* debug =
            with_debug_information && !functions.in_standard_module(at) ? debug_.of(node.module) : nullptr;
        symbols::debug_frame outermost;
        if (debug != nullptr) {
            for (const symbols::debug_frame& frame : module_debug::inlined_at(*debug, node.offset)) {
                outermost = frame;
                if (!frame.inlined) break;  // the symbol names the function itself
                if (frame.function.empty()) continue;
                const symbols::ownership known =
                    frame.symbol.empty() ? symbols::own_demangled(frame.function) : symbols::own(frame.symbol);
                ended = walk.take(
                    {frame.function, known.name, known.standard, frame.place, debug, frame, !frame.symbol.empty()});
                if (ended) break;
            }
        }
        if (ended) break;
        const std::string_view symbol = functions.symbol_of(at);
        const bool known = outermost.die != 0;
        ended = walk.take({symbol.empty() ? function.name : readable(symbol), function.name, function.standard,
                           outermost.place, known ? debug : nullptr, outermost, symbols::is_rust_symbol(symbol)});
    }
    end = ended ? last : 0;
    walk.finish();
    const std::vector<std::string>& inside = walk.inside;
    found one;
    if (walk.owner) {
        one.function = walk.owner->name;
        one.place = walk.owner->place;
        one.debug = walk.owner->debug;
        one.frame = walk.owner->frame;
    }
    if (one.debug == nullptr && with_debug_information) one.why_no_place = debug_.why_nothing(functions.node(last));
    const std::string why_no_types = one.debug != nullptr ? one.debug->why_no_types(one.frame) : std::string();
    if (!why_no_types.empty()) one.why_no_place = why_no_types;
    if (const auto name = symbols::name_container(inside)) {
        one.type = name->type;
        one.element_of = name->element_of;
    } else if (!walk.call.empty()) {
        one.call = walk.call;
        one.why = "not a container: " + symbols::cut_name(one.call) + " allocates it";
    } else if (module_debug::is_library_source(one.place.file)) {
        one.why = "no container named: the debug information does not say what was inlined here";
    } else if (one.debug != nullptr && why_no_types.empty()) {
        one.why = "not a container: its own code calls operator new or malloc";
    } else {
        if (!with_debug_information)
            one.why_no_place = "it is in the last hundredth of the bytes, which is not looked at";
        one.why = "no container named" + (one.why_no_place.empty() ? std::string() : ": " + one.why_no_place);
    }
    return one;
}

// Returns whether a line of the source names a variable. Used only for ordering, because the source may have changed.
bool container_list::is_named_at(const std::string& name, const symbols::source_place& place) {
    const auto [entry, is_new] = sources_.try_emplace(place.file);
    std::vector<std::string>& lines = entry->second;
    if (is_new && !place.file.empty()) {
        try {
            const std::string text = program::read_regular(place.file, source_bytes_max);
            for (std::size_t first = 0; first < text.size();) {
                const std::size_t past = std::min(text.find('\n', first), text.size());
                lines.push_back(text.substr(first, past - first));
                first = past + 1;
            }
        } catch (const std::exception&) {
            lines.clear();  // the file is not here: no lines to order by
        }
    }
    const auto number = static_cast<std::size_t>(place.line);
    const std::string last = name.substr(name.rfind('.') + 1);
    return place.line > 0 && number <= lines.size() && has_word(lines[number - 1], last);
}

json container_list::members(const found& one, const std::string& type) {
    json all = json::array();
    if (one.debug == nullptr || type.empty()) return all;
    const std::string wanted = symbols::comparable_type(type);
    std::multimap<int, json> ranked;
    std::set<std::string> known;
    for (const symbols::declaration& declared : one.debug->declarations(one.frame)) {
        const std::string written = symbols::written_type(declared.type);
        const std::string compared = symbols::comparable_type(written);
        if (declared.constant && (declared.place.line != one.place.line || declared.place.file != one.place.file))
            continue;
        const bool same = compared == wanted || symbols::are_streams_of_one_kind(wanted, compared);
        const bool adapted = !same && symbols::is_adaptor_over(compared, wanted);
        if (!same && !adapted && (wanted.size() < 8 || compared.find(wanted) == std::string::npos)) continue;
        if (!known.insert(declared.name + ":" + std::to_string(declared.place.line)).second) continue;
        const bool named = is_named_at(declared.name, one.place);
        const int rank = (same ? 0 : adapted ? 2 : 4) + (named ? 0 : 1);
        ranked.emplace(rank, json(program::json_object({{"name", declared.name},
                                                        {"kind", declared.kind},
                                                        {"type", symbols::cut_name(written)},
                                                        {"holds", same || adapted ? "itself" : "as an element"},
                                                        {"named_in_call", named},
                                                        {"file", declared.place.file},
                                                        {"line", declared.place.line}})));
    }
    for (const auto& [rank, member] : ranked) {
        if (all.size() == members_max || rank / 2 != ranked.begin()->first / 2) break;
        all.push_back(member);
    }
    return all;
}

void container_list::name_by_variables(found& one) {
    one.members = members(one, one.type);
    const json& members = one.members;
    // Streams share the buffer, so only the variable tells which one writes. The same holds for an adaptor whose call
    // of its container ends in a jump.
    if (members.size() == 1 && symbols::is_adaptor_over(members.front()["type"].text(), one.type))
        one.type = members.front()["type"].text();
    if (!members.empty() && symbols::are_streams_of_one_kind(one.type, members.front()["type"].text()))
        one.type = members.front()["type"].text();
}

json container_list::of(std::uint32_t subsystem) {
    struct place_sum {
        std::string function;
        symbols::source_place place;
        symbols::source_language language;
        std::uint64_t bytes = 0;
        json members;
    };
    struct entry {
        found sample;
        std::string why_no_members;
        std::uint64_t bytes = 0, allocations = 0;
        std::map<std::string, place_sum> places;
    };
    std::map<std::string, entry> entries;
    const std::uint64_t bytes = all_.counts().subsystems()[subsystem].bytes;
    known_walks<found> walks(all_.functions());
    std::uint64_t seen = 0;
    std::size_t looked_at = 0;
    for (const std::uint32_t context : all_.contexts(subsystem)) {
        const context_counts& counts = all_.counts().contexts()[context];
        const found* known = walks.of(context);
        if (known == nullptr) {
            std::uint32_t end = 0;
            const bool is_large = static_cast<double>(seen) <= looked_at_share * static_cast<double>(bytes);
            found looked = look_at(context, is_large || looked_at < looked_at_least, end);
            ++looked_at;
            name_by_variables(looked);
            known = &walks.add(context, end, std::move(looked));
        }
        seen += counts.bytes;
        const found& one = *known;
        const json& members = one.members;
        entry& sum = entries[one.type + "|" + one.element_of + "|" + one.why];
        if (sum.allocations == 0) sum.sample = one;
        if (sum.why_no_members.empty() && members.empty() && !one.type.empty()) sum.why_no_members = one.why_no_place;
        sum.bytes += counts.bytes;
        sum.allocations += counts.objects;
        place_sum& place = sum.places[one.function + "|" + one.place.file + "|" + std::to_string(one.place.line)];
        place.function = one.function;
        place.place = one.place;
        if (place.bytes == 0 && one.debug != nullptr) place.language = one.debug->language(one.frame);
        place.bytes += counts.bytes;
        if (place.members.empty()) place.members = members;
    }
    std::multimap<std::uint64_t, const entry*, std::greater<>> order;
    for (const auto& [key, one] : entries) order.emplace(one.bytes, &one);
    json list = json::array();
    for (const auto& [of_entry, one] : order) {
        if (list.size() == containers_max) break;
        std::multimap<std::uint64_t, const place_sum*, std::greater<>> places;
        for (const auto& [key, place] : one->places) places.emplace(place.bytes, &place);
        json shown = json::array(), members = json::array();
        for (const auto& [of_place, place] : places) {
            if (shown.size() < places_max)
                shown.push_back(program::json_object({{"function", place->function},
                                                      {"file", place->place.file},
                                                      {"line", place->place.line},
                                                      {"language", place->language.name},
                                                      {"standard", place->language.standard},
                                                      {"bytes", place->bytes}}));
            for (const json& member : place->members) {
                if (members.size() < members_max && std::find(members.begin(), members.end(), member) == members.end())
                    members.push_back(member);
            }
        }
        const auto text = [](const std::string& name) { return name.empty() ? json() : json(symbols::cut_name(name)); };
        list.push_back(program::json_object(
            {{"type", text(one->sample.type)},
             {"element_of", text(one->sample.element_of)},
             {"call", text(one->sample.call)},
             {"why_null", one->sample.type.empty() ? json(one->sample.why) : json()},
             {"bytes", one->bytes},
             {"share", bytes > 0 ? static_cast<double>(one->bytes) / static_cast<double>(bytes) : 0.0},
             {"allocations", one->allocations},
             {"places", std::move(shown)},
             {"members", members},
             {"why_no_members",
              members.empty() && !one->why_no_members.empty() ? json(one->why_no_members) : json()}}));
    }
    return list;
}

allocation_place container_list::place_of(std::uint32_t context) {
    std::uint32_t end = 0;
    found one = look_at(context, true, end);
    name_by_variables(one);
    return {std::move(one.function), std::move(one.type), std::move(one.place)};
}

symbols::source_place container_list::declared(const std::string& function, std::uint32_t subsystem) {
    const symbols::context_functions& functions = all_.functions();
    for (const std::uint32_t context : all_.contexts(subsystem)) {
        for (std::uint32_t at = context; at != 0; at = functions.node(at).parent) {
            const std::uint32_t id = functions.function_of(at);
            if (id == symbols::context_functions::none || functions.function(id).name != function) continue;
            symbols::debug_info* const debug = debug_.of(functions.node(at).module);
            return debug != nullptr ? debug->declared(functions.node(at).offset - 1) : symbols::source_place{};
        }
    }
    return {};
}

}  // namespace millpond::characterise
