// SPDX-License-Identifier: BSL-1.0
#include "lab/record/scope_list.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "lab/files/regular_file.hpp"
#include "lab/probes/wanted_scopes.hpp"
#include "lab/symbols/module_functions.hpp"

namespace millpond::record {
namespace {

constexpr std::size_t list_bytes_max = std::size_t{1} << 20;
constexpr std::string_view heading = "millpond.scopes/1";
constexpr int usage_status = 2;

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
    return text;
}

// Every function of that name: overloads, and functions of several files.
std::optional<measure::start_error> add_named(const std::vector<std::string>& names, const std::string& executable,
                                              std::vector<std::string>& places) {
    if (names.empty()) return std::nullopt;
    const symbols::module_functions functions(executable);
    const std::string module =
        functions.build_id().empty() ? std::filesystem::canonical(executable).string() : functions.build_id();
    for (const std::string& name : names) {
        const std::size_t before = places.size();
        for (const symbols::function& f : functions.all())
            if (f.entry && f.name == name) places.push_back(module + ":" + hex(f.first));
        if (places.size() == before)
            return measure::start_error{usage_status, "--scope " + name + ": " + executable +
                                                          " has no function of that name; for a library's function "
                                                          "use a list: --scopes FILE"};
    }
    return std::nullopt;
}

bool is_place(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    return colon != 0 && colon != text.npos && colon + 1 < text.size() && text.find(';') == text.npos &&
           text.substr(colon + 1).find_first_not_of("0123456789abcdef") == text.npos;
}

std::optional<measure::start_error> add_listed(const std::string& path, std::vector<std::string>& places) {
    if (path.empty()) return std::nullopt;
    const measure::start_error damaged{measure::start_error::input_missing,
                                       path +
                                           " is no list of scopes; 'millpond-characterise --scopes-out FILE TRACE' "
                                           "writes one"};
    std::string text;
    try {
        text = lab::read_regular(path, list_bytes_max);
    } catch (const lab::file_error& error) {
        return measure::start_error{measure::start_error::input_missing, error.what()};
    }
    bool first = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        at = end + 1;
        if (first && line != heading) return damaged;
        if (!first && !line.empty()) {
            const std::size_t tab = line.find('\t');
            if (tab == line.npos || !is_place(line.substr(0, tab))) return damaged;
            places.emplace_back(line.substr(0, tab));
        }
        first = false;
    }
    if (first) return damaged;
    return std::nullopt;
}

}  // namespace

std::optional<measure::start_error> find_scopes(const record_options& options, const std::string& executable,
                                                std::string& value) {
    std::vector<std::string> places;
    try {
        if (auto error = add_named(options.scopes, executable, places)) return error;
    } catch (const std::runtime_error& error) {
        return measure::start_error{measure::start_error::input_missing, error.what()};
    }
    if (auto error = add_listed(options.scopes_file, places)) return error;
    value.clear();
    if (places.empty()) return std::nullopt;
    if (places.size() > probing::wanted_scopes::scopes_max) places.resize(probing::wanted_scopes::scopes_max);
    value = std::to_string(options.scope_entries_max);
    for (const std::string& place : places) value += ";" + place;
    return std::nullopt;
}

}  // namespace millpond::record
