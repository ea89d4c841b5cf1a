// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/json_seal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "lab/program/crc32.hpp"
#include "lab/program/json.hpp"

namespace millpond::plan {
namespace {

using program::crc32;
using program::json;

void add_text(crc32& to, const std::string& text) {
    to.add("s" + std::to_string(text.size()) + ":");
    to.add(text);
}

// A number that a double holds exactly counts as the same number, however it is written.
void add_number(crc32& to, const json& value) {
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;
    if (value.type() == json::kind::unsigned_integer && value.get<std::uint64_t>() >= exact)
        return to.add("i" + std::to_string(value.get<std::uint64_t>()) + ";");
    if (value.type() == json::kind::integer && value.get<std::int64_t>() <= -static_cast<std::int64_t>(exact))
        return to.add("i" + std::to_string(value.get<std::int64_t>()) + ";");
    const auto number = value.get<double>();
    std::uint64_t bits = number == 0 ? 0 : std::bit_cast<std::uint64_t>(number);
    std::string bytes = "d";
    for (int i = 0; i < 8; ++i, bits >>= 8) bytes += static_cast<char>(bits & 0xff);
    to.add(bytes);
}

void add(crc32& to, const json& value) {
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
        for (const json& each : value) add(to, each);
        to.add("]");
    } else if (value.is_string()) {
        add_text(to, value.text());
    } else if (value.is_number()) {
        add_number(to, value);
    } else {
        to.add(value.is_null() ? "n" : value.get<bool>() ? "t" : "f");
    }
}

std::string seal_of(json document) {
    document.erase(seal_name);
    crc32 sum;
    add(sum, document);
    char text[32];
    std::snprintf(text, sizeof text, "crc32:%08x", sum.value());
    return text;
}

}  // namespace

std::string sealed_text(const std::string& text) {
    json document = program::parse_json(text);
    document[seal_name] = seal_of(document);
    return program::json_text(document) + "\n";
}

const char* seal_flaw(const json& document) {
    if (!document.is_object() || !document.contains(seal_name)) return nullptr;
    const json& seal = document[seal_name];
    if (seal.is_string() && seal.text() == seal_of(document)) return nullptr;
    return "its checksum does not hold: it was damaged, or changed, since it was written";
}

}  // namespace millpond::plan
