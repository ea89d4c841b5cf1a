// SPDX-License-Identifier: BSL-1.0
#include "lab/program/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <utility>

#include "lab/program/any_bytes.hpp"

namespace millpond::program {
namespace {

std::string with_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }

}  // namespace

json::json() : value_(nullptr) {}
json::json(std::nullptr_t) : value_(nullptr) {}
json::json(double value) : value_(value) {}
json::json(const char* text) : value_(std::string(text)) {}
json::json(std::string_view text) : value_(std::string(text)) {}
json::json(std::string text) : value_(std::move(text)) {}
json::json(value_type value) : value_(std::move(value)) {}
json::json(const json& other) = default;
json::json(json&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
json& json::operator=(const json& other) = default;
json& json::operator=(json&& other) noexcept = default;
json::~json() = default;

json json::array(std::vector<json> elements) { return json(value_type(std::move(elements))); }
json json::object() { return json(value_type(object_type())); }

const char* json::type_name() const {
    constexpr std::array names = {"null", "boolean", "number", "number", "number", "string", "array", "object"};
    return names[value_.index()];
}

void json::fail(const char* wanted) const {
    throw json_kind_error(std::string("it must be ") + wanted + ", not " + type_name());
}

bool json::boolean() const {
    if (const auto* const value = std::get_if<bool>(&value_)) return *value;
    fail("true or false");
}

std::int64_t json::integer() const {
    if (const auto* const value = std::get_if<std::int64_t>(&value_)) return *value;
    if (const auto* const value = std::get_if<std::uint64_t>(&value_)) return static_cast<std::int64_t>(*value);
    if (const auto* const value = std::get_if<double>(&value_)) return static_cast<std::int64_t>(*value);
    fail("a number");
}

double json::real() const {
    if (const auto* const value = std::get_if<double>(&value_)) return *value;
    if (const auto* const value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
    if (const auto* const value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
    fail("a number");
}

const std::string& json::text() const {
    if (const auto* const value = std::get_if<std::string>(&value_)) return *value;
    fail("a string");
}

std::size_t json::size() const {
    if (const auto* const elements = std::get_if<array_type>(&value_)) return elements->size();
    if (const auto* const members = std::get_if<object_type>(&value_)) return members->size();
    if (!is_null()) fail("an array or an object");
    return 0;
}

const json* json::begin() const {
    if (const auto* const elements = std::get_if<array_type>(&value_)) return elements->data();
    if (!is_null()) fail("an array");
    return nullptr;
}

const json* json::end() const { return is_null() ? nullptr : begin() + size(); }
json* json::begin() { return const_cast<json*>(std::as_const(*this).begin()); }
json* json::end() { return const_cast<json*>(std::as_const(*this).end()); }

const json& json::operator[](std::size_t index) const {
    const json* const first = begin();
    if (index >= size()) throw json_kind_error("it must have more than " + std::to_string(index) + " elements");
    return first[index];
}

json& json::operator[](std::size_t index) { return const_cast<json&>(std::as_const(*this)[index]); }

void json::push_back(json element) {
    if (is_null()) value_ = array_type();
    if (!is_array()) fail("an array");
    std::get<array_type>(value_).push_back(std::move(element));
}

const std::vector<json_member>& json::items() const {
    static const object_type none;
    if (const auto* const members = std::get_if<object_type>(&value_)) return *members;
    if (!is_null()) fail("an object");
    return none;
}

std::vector<json_member>& json::items() {
    if (is_null()) value_ = object_type();
    if (!is_object()) fail("an object");
    return std::get<object_type>(value_);
}

const json* json::member(std::string_view name) const {
    const auto* const members = std::get_if<object_type>(&value_);
    if (members == nullptr) return nullptr;
    const auto found =
        std::find_if(members->begin(), members->end(), [&](const auto& one) { return one.name == name; });
    return found != members->end() ? &found->value : nullptr;
}

const json& json::at(std::string_view name) const {
    if (!is_object()) fail("an object");
    if (const json* const found = member(name)) return *found;
    throw json_kind_error("it has no member " + with_quotes(name));
}

const json& json::value(std::string_view name) const {
    static const json none;
    const json* const found = member(name);
    return found != nullptr ? *found : none;
}

json& json::operator[](std::string_view name) {
    if (const json* const found = member(name)) return const_cast<json&>(*found);
    items().push_back({std::string(name), json()});
    return items().back().value;
}

void json::erase(std::string_view name) {
    std::erase_if(items(), [&](const json_member& one) { return one.name == name; });
}

void json::update(const json& with) {
    for (const auto& [name, value] : with.items()) (*this)[name] = value;
}

bool operator==(const json& a, const json& b) {
    if (a.is_number() && b.is_number()) {
        if (a.type() == json::kind::real || b.type() == json::kind::real) return a.real() == b.real();
        const auto is_negative = [](const json& one) { return one.type() == json::kind::integer && one.integer() < 0; };
        return a.integer() == b.integer() && is_negative(a) == is_negative(b);
    }
    if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
    const auto is_in_b = [&](const json_member& one) {
        const json* const other = b.member(one.name);
        return other != nullptr && *other == one.value;
    };
    return a.size() == b.size() && std::all_of(a.items().begin(), a.items().end(), is_in_b);
}

json json_object(std::initializer_list<json_member> members) {
    json made = json::object();
    for (const json_member& each : members) made[each.name] = std::move(each.value);
    return made;
}

std::ostream& operator<<(std::ostream& to, const json& value) { return to << json_text(value, -1); }

}  // namespace millpond::program
