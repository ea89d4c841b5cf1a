// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/trace_set.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "lab/trace/block_file.hpp"
#include "lab/trace/records.hpp"

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

trace_origin read_origin(const std::string& path) {
    trace_origin origin;
    try {
        block_file file(path);
        block_record block{};
        payload_buffer payload;
        origin.is_known = file.read_first(block, payload) && block.header.kind == mpt_process;
        origin.is_trace = block.header.frame_magic == static_cast<std::uint32_t>(mpt_frame_magic) &&
                          block.header.magic == static_cast<std::uint32_t>(mpt_magic);
        if (!origin.is_known) return origin;
        process_record process;
        take_process(payload.bytes(), process);
        origin.recording = process.recording;
        origin.pid = process.pid;
        origin.first_tick = process.first_tick;
    } catch (const trace_error& not_readable) {
        origin.is_known = false;
    }
    return origin;
}

std::vector<trace_file> numbered_siblings(const std::string& file) {
    namespace fs = std::filesystem;
    const fs::path root(file);
    const std::string name = root.filename().string();
    std::vector<trace_file> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(root.has_parent_path() ? root.parent_path() : ".")) {
        const std::string other = entry.path().filename().string();
        if (!other.starts_with(name) || !entry.is_regular_file()) continue;
        trace_file candidate;
        std::string_view rest = std::string_view(other).substr(name.size());
        if (!take_number(rest, candidate.pid)) continue;
        if (!rest.empty() && (!take_number(rest, candidate.image) || !rest.empty())) continue;
        candidate.path = root.has_parent_path() ? entry.path().string() : other;
        found.push_back(std::move(candidate));
    }
    std::sort(found.begin(), found.end(), [](const trace_file& a, const trace_file& b) {
        return std::tie(a.pid, a.image, a.path) < std::tie(b.pid, b.image, b.path);
    });
    return found;
}

std::vector<trace_file> find_trace_set(const std::string& file) {
    std::vector<trace_file> found;
    const bool has_root = std::filesystem::is_regular_file(file);
    const trace_origin root = has_root ? read_origin(file) : trace_origin{};
    if (has_root) found.push_back({file, 0, 0});
    for (trace_file& sibling : numbered_siblings(file)) {
        const trace_origin origin = read_origin(sibling.path);
        const bool same = !has_root || (root.is_known && origin.recording == root.recording) || !origin.is_known;
        if (origin.is_trace && same && (root.is_trace || !has_root)) found.push_back(std::move(sibling));
    }
    return found;
}

}  // namespace millpond::trace
