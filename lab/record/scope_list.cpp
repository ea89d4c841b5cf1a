// SPDX-License-Identifier: BSL-1.0
#include "lab/record/scope_list.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "lab/probes/wanted_scopes.hpp"
#include "lab/program/crc32.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/symbols/module_functions.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

constexpr std::size_t list_bytes_max = std::size_t{1} << 20;
constexpr std::string_view heading = "millpond.scopes/1";

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
    return text;
}

symbols::module_functions functions_of(const std::string& executable) {
    try {
        return symbols::module_functions(executable);
    } catch (const std::runtime_error& error) {
        throw program::failure(program::input, error.what());
    }
}

// Adds every function of that name: overloads, and functions of several files.
void add_named(const std::vector<std::string>& names, const std::string& executable, std::vector<std::string>& places) {
    if (names.empty()) return;
    const symbols::module_functions functions = functions_of(executable);
    const std::string module =
        functions.build_id().empty() ? std::filesystem::canonical(executable).string() : functions.build_id();
    for (const std::string& name : names) {
        const std::size_t before = places.size();
        for (const symbols::function& f : functions.all())
            if (f.entry && f.name == name) places.push_back(module + ":" + hex(f.first));
        if (places.size() == before)
            throw program::failure(program::usage,
                                   "--scope " + name + ": " + executable +
                                       " has no function of that name; for a library's function use a list: "
                                       "--scope @FILE");
    }
}

bool is_place(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    return colon != 0 && colon != text.npos && colon + 1 < text.size() && text.find(';') == text.npos &&
           text.substr(colon + 1).find_first_not_of("0123456789abcdef") == text.npos;
}

// "millpond.scopes/1", with or without " crc32:" and the checksum of the rest: a list written by hand has none.
bool is_heading(std::string_view line, std::string_view rest) {
    if (line == heading) return true;
    char sealed[40];
    std::snprintf(sealed, sizeof sealed, " crc32:%08x", program::crc32::of(rest));
    return line.substr(0, heading.size()) == heading && line.substr(std::min(heading.size(), line.size())) == sealed;
}

void add_listed(const std::string& path, std::vector<std::string>& places) {
    if (path.empty()) return;
    const program::failure damaged(program::input,
                                   path +
                                       " is not a complete list of scopes; 'millpond trace show -o FILE.scopes "
                                       "FILE TRACE' writes one");
    const std::string text = program::read_regular(path, list_bytes_max);
    const std::size_t heading_end = std::min(text.find('\n'), text.size());
    const std::string_view rest = std::string_view(text).substr(std::min(heading_end + 1, text.size()));
    if (!is_heading(std::string_view(text).substr(0, heading_end), rest)) throw damaged;
    for (std::size_t at = 0; at < rest.size();) {
        const std::size_t end = std::min(rest.find('\n', at), rest.size());
        const std::string_view line = rest.substr(at, end - at);
        at = end + 1;
        if (line.empty()) continue;
        const std::size_t tab = line.find('\t');
        if (tab == line.npos || !is_place(line.substr(0, tab))) throw damaged;
        places.emplace_back(line.substr(0, tab));
    }
}

}  // namespace

std::string find_scopes(const record_options& options, const std::string& executable) {
    std::vector<std::string> places;
    add_named(options.scopes, executable, places);
    add_listed(options.scopes_file, places);
    if (places.empty()) return "";
    if (!preload::machine::has_probes)
        throw program::failure(program::environment,
                               "scopes are observed on x86-64 only: record without --scope and --scopes");
    if (places.size() > probes::wanted_scopes::scopes_max) places.resize(probes::wanted_scopes::scopes_max);
    std::string value = std::to_string(options.scope_entries_max);
    for (const std::string& place : places) value += ";" + place;
    return value;
}

}  // namespace millpond::record
