// SPDX-License-Identifier: BSL-1.0
// json_text and parse_json: the only source that sees nlohmann's library, but for the strict reading of lab/plan.
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/program/any_bytes.hpp"
#include "lab/program/json.hpp"
#include "lab/program/nlohmann_json.hpp"

namespace millpond::program {
namespace {

using nlohmann::ordered_json;

std::string same(std::string_view text) { return std::string(text); }

ordered_json to_nlohmann(const json& value, string_change change) {
    switch (value.type()) {
        case json::kind::null:
            return nullptr;
        case json::kind::boolean:
            return value.get<bool>();
        case json::kind::integer:
            return value.get<std::int64_t>();
        case json::kind::unsigned_integer:
            return value.get<std::uint64_t>();
        case json::kind::real:
            return value.get<double>();
        case json::kind::text:
            return change(value.text());
        case json::kind::array:
            break;
        case json::kind::object: {
            ordered_json::object_t members;
            members.reserve(value.size());
            for (const auto& [name, one] : value.items()) members.emplace_back(change(name), to_nlohmann(one, change));
            return members;
        }
    }
    ordered_json::array_t elements;
    elements.reserve(value.size());
    for (const json& one : value) elements.push_back(to_nlohmann(one, change));
    return elements;
}

}  // namespace

json from_nlohmann(const ordered_json& value, string_change change) {
    switch (value.type()) {
        case ordered_json::value_t::boolean:
            return value.get<bool>();
        case ordered_json::value_t::number_integer:
            return value.get<std::int64_t>();
        case ordered_json::value_t::number_unsigned:
            return value.get<std::uint64_t>();
        case ordered_json::value_t::number_float:
            return value.get<double>();
        case ordered_json::value_t::string:
            return change(value.get_ref<const std::string&>());
        case ordered_json::value_t::array: {
            json elements = json::array();
            for (const ordered_json& one : value) elements.push_back(from_nlohmann(one, change));
            return elements;
        }
        case ordered_json::value_t::object: {
            json members = json::object();
            for (const auto& [name, one] : value.items())
                members.items().push_back({change(name), from_nlohmann(one, change)});
            return members;
        }
        default:
            return nullptr;
    }
}

std::string json_text(const json& value, int indent) {
    try {
        return to_nlohmann(value, same).dump(indent);
    } catch (const ordered_json::type_error&) {  // bytes that are not UTF-8, which is rare
    }
    return to_nlohmann(value, kept).dump(indent);
}

json parse_json(const std::string& text) {
    try {
        return from_nlohmann(ordered_json::parse(text), same);
    } catch (const ordered_json::exception& error) {
        throw json_kind_error(error.what());
    }
}

}  // namespace millpond::program
