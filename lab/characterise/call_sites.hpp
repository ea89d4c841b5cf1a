// SPDX-License-Identifier: BSL-1.0
// call_sites: the names of call sites, which are the same in every run of the same build.
//
//   gawk+2ea51 gawk+30f12 libc.so.6+2724a 48      return addresses as offsets in their files, innermost first; the size
//
// Threads: no state.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/trace/reader.hpp"

namespace millpond::characterise {

// Barrett and Zorn (1993) found that more frames do not improve the prediction.
inline constexpr std::size_t site_frames = 4;

// Returns the innermost frames of a context, at most site_frames.
inline std::vector<std::string> frames_of(std::uint32_t context, const std::vector<trace::context_node>& nodes,
                                          const std::vector<trace::module_record>& modules) {
    std::vector<std::string> frames;
    for (std::uint32_t at = context < nodes.size() ? context : 0; at != 0 && frames.size() < site_frames;
         at = nodes[at].parent) {
        const std::uint32_t module = nodes[at].module;
        std::array<char, 24> offset{};
        std::snprintf(offset.data(), offset.size(), "+%llx", static_cast<unsigned long long>(nodes[at].offset));
        std::string& name = frames.emplace_back();
        if (module != 0 && module <= modules.size())
            name = std::filesystem::path(modules[module - 1].path).filename().string();
        name += offset.data();
    }
    return frames;
}

// Returns the name of a site by its innermost `depth` frames, or by all if there are fewer.
inline std::string site_name(const std::vector<std::string>& frames, std::size_t depth, std::uint64_t bytes) {
    std::string name;
    for (std::size_t i = 0; i < depth && i < frames.size(); ++i) name += frames[i] + ' ';
    return name + std::to_string(bytes);
}

}  // namespace millpond::characterise
