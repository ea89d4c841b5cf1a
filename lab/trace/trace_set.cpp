// SPDX-License-Identifier: BSL-1.0
#include "trace_set.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <tuple>

namespace millpond::trace {

namespace {

// Takes ".DIGITS" from the front of `text`.
bool take_number(std::string_view& text, std::uint64_t& value) {
    if (text.size() < 2 || text[0] != '.') return false;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

}  // namespace

std::vector<trace_file> find_trace_set(const std::string& file) {
    namespace fs = std::filesystem;
    const fs::path root(file);
    const std::string name = root.filename().string();
    std::vector<trace_file> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(root.has_parent_path() ? root.parent_path() : ".")) {
        const std::string other = entry.path().filename().string();
        if (!other.starts_with(name) || !entry.is_regular_file()) continue;
        trace_file candidate;
        std::string_view rest = std::string_view(other).substr(name.size());
        if (!rest.empty()) {
            if (!take_number(rest, candidate.pid)) continue;
            if (!rest.empty() && (!take_number(rest, candidate.image) || !rest.empty())) continue;
        }
        candidate.path = root.has_parent_path() ? entry.path().string() : other;
        found.push_back(std::move(candidate));
    }
    std::sort(found.begin(), found.end(), [](const trace_file& a, const trace_file& b) {
        return std::tie(a.pid, a.image, a.path) < std::tie(b.pid, b.image, b.path);
    });
    return found;
}

}  // namespace millpond::trace
