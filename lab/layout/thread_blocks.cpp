// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/thread_blocks.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "lab/symbols/elf_file.hpp"

namespace millpond::layout {

namespace {

std::optional<symbols::thread_segment> variables_of(const trace::module_record& module) {
    try {
        const symbols::elf_file file(module.path);
        if (file.build_id() != module.build_id) return std::nullopt;
        return file.thread_variables();
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

std::vector<thread_block> thread_blocks_of(std::vector<trace::module_record> modules, const std::string& executable) {
    std::stable_sort(modules.begin(), modules.end(), [&](const auto& a, const auto& b) {
        return std::pair(a.path != executable, a.bias) < std::pair(b.path != executable, b.bias);
    });
    std::vector<thread_block> blocks;
    std::uint64_t end = 0, gap_from = 0, gap_to = 0;  // below the thread pointer; alignment leaves the gap
    for (const trace::module_record& module : modules) {
        const auto own = variables_of(module);
        if (!own || own->bytes == 0) continue;
        const std::uint64_t first = -own->address & (own->alignment - 1);
        const auto place = [&](std::uint64_t behind) {
            return rounded_up(behind + own->bytes - first, own->alignment) + first;
        };
        std::uint64_t below = place(gap_from);
        if (gap_to - gap_from >= own->bytes && below <= gap_to) {
            gap_from = below;
        } else {
            below = place(end);
            if (below > end + own->bytes + (gap_to - gap_from)) {
                gap_from = end;
                gap_to = below - own->bytes;
            }
            end = below;
        }
        blocks.push_back({module.path, module.build_id, below, own->bytes});
    }
    return blocks;
}

}  // namespace millpond::layout
