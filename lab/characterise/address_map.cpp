// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/address_map.hpp"
#include "lab/program/json.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace millpond::characterise {
namespace {

double rounded(double share) { return static_cast<double>(std::llround(share * 1000)) / 1000; }

}  // namespace

void address_map::add(const page_survey& survey, std::uint64_t tick, std::uint64_t live_bytes) {
    column next{tick, live_bytes, granule_pages_log2, {}};
    // Pages are grouped into granules as objects into pages: each page is an "object" of one byte.
    gathered_.start(survey.subsystems(), survey.used() >> granule_pages_log2);
    survey.for_each([&](std::uint32_t subsystem, std::uint64_t page, std::uint64_t) {
        gathered_.add(subsystem, page >> granule_pages_log2 << page_survey::page_bytes_log2, 1);
    });
    gathered_.finish();
    next.entries.reserve(gathered_.used());
    gathered_.for_each([&](std::uint32_t subsystem, std::uint64_t granule, std::uint64_t pages) {
        next.entries.push_back({granule, subsystem, static_cast<std::uint32_t>(pages << survey.sample_log2())});
    });
    coarsen(next.entries, 0);
    while (next.entries.size() > entries_max) {
        coarsen(next.entries, 1);
        ++next.granule_pages_log2;
    }
    next.entries.shrink_to_fit();
    columns_.push_back(std::move(next));
}

// Joins the entries of a granule and subsystem after making granules 2^shift times as large.
void address_map::coarsen(std::vector<entry>& entries, unsigned shift) {
    for (entry& e : entries) e.granule >>= shift;
    std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
        return std::tie(a.granule, a.subsystem) < std::tie(b.granule, b.subsystem);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (kept > 0 && entries[kept - 1].granule == entries[i].granule &&
            entries[kept - 1].subsystem == entries[i].subsystem)
            entries[kept - 1].pages += entries[i].pages;
        else
            entries[kept++] = entries[i];
    }
    entries.resize(kept);
}

address_map::layout address_map::rows() const {
    layout all;
    for (const column& c : columns_) all.granule_pages_log2 = std::max(all.granule_pages_log2, c.granule_pages_log2);
    for (const column& c : columns_) {
        for (const entry& e : c.entries)
            all.granules.push_back(e.granule >> (all.granule_pages_log2 - c.granule_pages_log2));
    }
    std::sort(all.granules.begin(), all.granules.end());
    all.granules.erase(std::unique(all.granules.begin(), all.granules.end()), all.granules.end());
    all.granules_a_row = std::max<std::size_t>(1, (all.granules.size() + rows_max - 1) / rows_max);
    return all;
}

program::json address_map::rows_json(const layout& all) {
    const unsigned shift = all.granule_pages_log2 + page_survey::page_bytes_log2;
    program::json map;
    map["granule_bytes"] = std::uint64_t{1} << shift;
    map["rows"] = program::json::array();
    std::uint64_t past = all.granules.front();
    for (std::size_t i = 0; i < all.granules.size(); i += all.granules_a_row) {
        const std::size_t last = std::min(i + all.granules_a_row, all.granules.size()) - 1;
        map["rows"].push_back(program::json_object({{"offset_bytes", (all.granules[i] - all.granules.front()) << shift},
                                                    {"bytes", (last - i + 1) << shift},
                                                    {"gap_bytes", (all.granules[i] - past) << shift}}));
        past = all.granules[last] + 1;
    }
    return map;
}

program::json address_map::to_json(const std::function<double(std::uint64_t)>& seconds,
                                   const std::function<std::size_t(std::uint32_t)>& position) const {
    const layout all = rows();
    if (all.granules.empty()) return nullptr;
    program::json map = rows_json(all);
    map["columns"] = program::json::array();
    for (const column& c : columns_)
        map["columns"].push_back(
            program::json_object({{"time_seconds", seconds(c.tick)}, {"live_bytes", c.live_bytes}}));
    map["cells"] = program::json::array();
    for (const cell& c : cells(all))
        map["cells"].push_back(program::json::array({c.row, c.column, position(c.subsystem), c.share, c.fill}));
    return map;
}

std::vector<address_map::cell> address_map::cells(const layout& all) const {
    std::vector<cell> found;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const unsigned shift = all.granule_pages_log2 - columns_[c].granule_pages_log2;
        std::map<std::size_t, std::map<std::uint32_t, std::uint64_t>> pages;  // row → subsystem → pages
        for (const entry& e : columns_[c].entries) {
            const auto at = std::lower_bound(all.granules.begin(), all.granules.end(), e.granule >> shift);
            pages[static_cast<std::size_t>(at - all.granules.begin()) / all.granules_a_row][e.subsystem] += e.pages;
        }
        for (const auto& [row, of_row] : pages) {
            std::uint64_t total = 0;
            auto most = of_row.begin();
            for (auto of_one = of_row.begin(); of_one != of_row.end(); ++of_one) {
                total += of_one->second;
                if (of_one->second > most->second) most = of_one;
            }
            const std::size_t granules = std::min(all.granules_a_row, all.granules.size() - row * all.granules_a_row);
            const auto room = static_cast<double>(granules << all.granule_pages_log2);
            found.push_back({row, c, most->first,
                             rounded(static_cast<double>(most->second) / static_cast<double>(total)),
                             rounded(std::min(1.0, static_cast<double>(total) / room))});
        }
    }
    return found;
}

}  // namespace millpond::characterise
