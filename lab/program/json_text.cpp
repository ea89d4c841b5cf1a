// SPDX-License-Identifier: BSL-1.0
#include "lab/program/json_text.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "lab/program/any_bytes.hpp"
#include "lab/program/json_member.hpp"

namespace millpond::program {
namespace {

template <class Json>
void change_all(Json& value, const std::function<std::string(const std::string&)>& change) {
    if (value.is_string()) {
        value = change(value.template get_ref<const std::string&>());
    } else if (value.is_array()) {
        for (Json& one : value) change_all(one, change);
    } else if (value.is_object()) {
        Json changed = Json::object();
        for (auto& [name, one] : value.items()) {
            change_all(one, change);
            changed[change(name)] = std::move(one);
        }
        value = std::move(changed);
    }
}

template <class Json>
std::string text_of(const Json& value, int indent) {
    try {
        return value.dump(indent);
    } catch (const typename Json::type_error&) {  // bytes that are not UTF-8, which is rare
    }
    Json copy = value;
    change_all(copy, kept);
    return copy.dump(indent);
}

}  // namespace

void change_strings(nlohmann::json& value, const std::function<std::string(const std::string&)>& change) {
    change_all(value, change);
}

void change_strings(nlohmann::ordered_json& value, const std::function<std::string(const std::string&)>& change) {
    change_all(value, change);
}

nlohmann::ordered_json json_object(std::initializer_list<json_member> members) {
    nlohmann::ordered_json made = nlohmann::ordered_json::object();
    for (const json_member& each : members) made.emplace(each.name, std::move(each.value));
    return made;
}

std::string json_text(const nlohmann::json& value, int indent) { return text_of(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent); }

}  // namespace millpond::program
