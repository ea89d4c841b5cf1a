// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/json_seal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/program/crc32.hpp"

namespace millpond::plan {
namespace {

using program::crc32;

void add_text(crc32& to, const std::string& text) {
    to.add("s" + std::to_string(text.size()) + ":");
    to.add(text);
}

// What a double holds exactly is one number, however it is written.
template <class Json>
void add_number(crc32& to, const Json& value) {
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;
    if (value.is_number_unsigned() && value.template get<std::uint64_t>() >= exact)
        return to.add("i" + std::to_string(value.template get<std::uint64_t>()) + ";");
    if (value.is_number_integer() && !value.is_number_unsigned() &&
        value.template get<std::int64_t>() <= -static_cast<std::int64_t>(exact))
        return to.add("i" + std::to_string(value.template get<std::int64_t>()) + ";");
    const double number = value.template get<double>();
    std::uint64_t bits = number == 0 ? 0 : std::bit_cast<std::uint64_t>(number);
    std::string bytes = "d";
    for (int i = 0; i < 8; ++i, bits >>= 8) bytes += static_cast<char>(bits & 0xff);
    to.add(bytes);
}

template <class Json>
void add(crc32& to, const Json& value) {
    if (value.is_object()) {
        std::vector<std::string> names;
        for (const auto& [name, member] : value.items()) names.push_back(name);
        std::sort(names.begin(), names.end());
        to.add("{");
        for (const std::string& name : names) {
            add_text(to, name);
            add(to, value.at(name));
        }
        to.add("}");
    } else if (value.is_array()) {
        to.add("[");
        for (const Json& each : value) add(to, each);
        to.add("]");
    } else if (value.is_string()) {
        add_text(to, value.template get_ref<const std::string&>());
    } else if (value.is_number()) {
        add_number(to, value);
    } else {
        to.add(value.is_null() ? "n" : value.template get<bool>() ? "t" : "f");
    }
}

template <class Json>
std::string seal_of(Json document) {
    document.erase(seal_name);
    crc32 sum;
    add(sum, document);
    char text[32];
    std::snprintf(text, sizeof text, "crc32:%08x", sum.value());
    return text;
}

}  // namespace

std::string sealed_text(const std::string& text) {
    auto document = nlohmann::ordered_json::parse(text);
    document[seal_name] = seal_of(document);
    return document.dump(2) + "\n";
}

const char* seal_flaw(const nlohmann::json& document) {
    if (!document.is_object() || !document.contains(seal_name)) return nullptr;
    const nlohmann::json& seal = document[seal_name];
    if (seal.is_string() && seal.get_ref<const std::string&>() == seal_of(document)) return nullptr;
    return "its checksum does not hold: it was damaged, or changed, since it was written";
}

}  // namespace millpond::plan
