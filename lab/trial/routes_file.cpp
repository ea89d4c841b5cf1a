// SPDX-License-Identifier: BSL-1.0
#include "lab/trial/routes_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "lab/probes/wanted_scopes.hpp"
#include "lab/program/crc32.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "preload/word_position.hpp"

namespace millpond::trial {
namespace {

// Returns whether every part that the header names lies inside the file, so that the router may use it unchecked.
bool is_whole(const routes_header& h, const char* content, std::size_t bytes) {
    const auto inside = [&](std::uint64_t at, std::uint64_t count, std::uint64_t size) {
        return at % 4 == 0 && at >= sizeof(routes_header) && at + count * size <= bytes;
    };
    if (!inside(h.pools_at, h.pool_count, sizeof(route_pool)) ||
        !inside(h.modules_at, h.module_count, sizeof(route_module)) ||
        !inside(h.ranges_at, h.range_count, sizeof(route_range)) ||
        !inside(h.scopes_at, h.scope_count, sizeof(route_scope_entry)) ||
        !inside(h.keys_at, h.key_count, sizeof(route_instance_key)) || !inside(h.strings_at, h.string_bytes, 1))
        return false;
    if (h.string_bytes == 0 || content[h.strings_at + h.string_bytes - 1] != '\0') return false;
    if (h.program_build_id >= h.string_bytes || h.program_path >= h.string_bytes ||
        h.other_modules_pool > h.pool_count || h.generated_pool > h.pool_count || h.unknown_pool > h.pool_count)
        return false;
    const auto* const pools = reinterpret_cast<const route_pool*>(content + h.pools_at);
    for (std::uint32_t i = 0; i < h.pool_count; ++i)
        if (pools[i].name >= h.string_bytes || pools[i].kind > pool_kind::outermost_arenas) return false;
    const auto* const modules = reinterpret_cast<const route_module*>(content + h.modules_at);
    for (std::uint32_t i = 0; i < h.module_count; ++i) {
        const route_module& m = modules[i];
        if (m.build_id >= h.string_bytes || m.path >= h.string_bytes || m.pool > h.pool_count ||
            std::uint64_t{m.first_range} + m.range_count > h.range_count)
            return false;
    }
    const auto* const ranges = reinterpret_cast<const route_range*>(content + h.ranges_at);
    for (std::uint32_t i = 0; i < h.range_count; ++i)
        if (ranges[i].pool > h.pool_count || ranges[i].role > frame_role::owner) return false;
    const auto* const scopes = reinterpret_cast<const route_scope_entry*>(content + h.scopes_at);
    for (std::uint32_t i = 0; i < h.scope_count; ++i)
        if (scopes[i].module >= h.module_count || scopes[i].pool >= h.pool_count) return false;
    const auto* const keys = reinterpret_cast<const route_instance_key*>(content + h.keys_at);
    for (std::uint32_t i = 0; i < h.key_count; ++i)
        if (keys[i].module >= h.module_count || keys[i].pool == 0 || keys[i].pool > h.pool_count ||
            keys[i].position >= preload::word_position::count)
            return false;
    return true;
}

bool checksum_holds(routes_header header, std::string_view content) {
    const std::uint32_t expected = header.checksum;
    header.checksum = 0;
    program::crc32 sum;
    sum.add({reinterpret_cast<const char*>(&header), sizeof header});
    sum.add(content.substr(sizeof header));
    return sum.value() == expected;
}

}  // namespace

routes_file::routes_file(const std::string& path)
    : content_(program::read_regular(path, std::numeric_limits<std::uint32_t>::max())),
      view_(content_.data(), content_.size()) {
    if (view_.empty() || !checksum_holds(view_.header(), content_) ||
        !is_whole(view_.header(), content_.data(), content_.size()))
        throw program::failure(program::input,
                               path + ": not a whole file of compiled routes of this version; compile the plan again");
}

std::vector<std::string> routes_file::pool_names() const {
    std::vector<std::string> result;
    result.reserve(view_.header().pool_count);
    for (std::uint32_t i = 0; i < view_.header().pool_count; ++i)
        result.emplace_back(view_.text(view_.pools()[i].name));
    return result;
}

std::string routes_file::scopes() const {
    constexpr unsigned long long entries_max = 1'000'000'000'000;
    const std::uint32_t count = std::min<std::uint32_t>(view_.header().scope_count, probes::wanted_scopes::scopes_max);
    std::string result = count > 0 ? std::to_string(entries_max) : "";
    for (std::uint32_t i = 0; i < count; ++i) {
        const route_scope_entry& scope = view_.scopes()[i];
        const route_module& module = view_.modules()[scope.module];
        const std::string build_id = view_.text(module.build_id);
        char address[24];
        std::snprintf(address, sizeof address, ":%llx", static_cast<unsigned long long>(scope.entry));
        result += ";" + (build_id.empty() ? view_.text(module.path) : build_id) + address;
    }
    return result;
}

}  // namespace millpond::trial
