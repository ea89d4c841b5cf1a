// SPDX-License-Identifier: BSL-1.0
#include "lab/layout/region_map.hpp"

#include <algorithm>

#include "lab/trace/block_file.hpp"
#include "lab/trace/fields.hpp"

namespace millpond::layout {

region_map region_map::of_recording(const std::string& path, const trace::reader& trace) {
    static constexpr memory_kind kinds[] = {memory_kind::unknown, memory_kind::stack, memory_kind::global,
                                            memory_kind::program_break, memory_kind::variables};
    region_map all;
    trace::block_file file(path);
    trace::payload_buffer payload;
    for (const trace::block_record& block : trace.blocks()) {
        std::string what;
        if (block.header.kind != mpt_regions || !file.read_payload(block, payload, what)) continue;
        try {
            trace::field_cursor from(payload.bytes());
            for (std::uint32_t i = 0; i < block.header.count; ++i) {
                const std::uint64_t kind = from.number(), first = from.number(), bytes = from.number();
                const std::uint64_t last = first + (bytes - 1);
                all.has_main_ |= kind == mpt_region_main;
                if (bytes == 0 || last < first || kind == 0 || kind > mpt_region_variables) continue;
                all.add({first, last, kinds[kind]});
            }
        } catch (const trace::trace_error& damaged) {
        }
    }
    all.finish();
    return all;
}

void region_map::finish() {
    std::stable_sort(regions_.begin(), regions_.end(),
                     [](const memory_region& a, const memory_region& b) { return a.first < b.first; });
    std::vector<memory_region> disjoint;
    for (const memory_region& each : regions_) {
        if (!disjoint.empty() && disjoint.back().last >= each.first) {
            if (disjoint.back().first == each.first)
                disjoint.pop_back();
            else
                disjoint.back().last = each.first - 1;
        }
        disjoint.push_back(each);
    }
    regions_ = std::move(disjoint);
    latest_ = {1, 0, memory_kind::unknown};
}

const memory_region& region_map::search(std::uint64_t address) {
    const auto above = std::upper_bound(regions_.begin(), regions_.end(), address,
                                        [](std::uint64_t at, const memory_region& each) { return at < each.first; });
    if (above == regions_.begin() || std::prev(above)->last < address) return none_;
    return latest_ = *std::prev(above);
}

const memory_region& region_map::first_of(memory_kind kind) const {
    const auto found =
        std::find_if(regions_.begin(), regions_.end(), [kind](const memory_region& each) { return each.kind == kind; });
    return found == regions_.end() ? none_ : *found;
}

const memory_region& region_map::last_of(memory_kind kind) const {
    const auto found = std::find_if(regions_.rbegin(), regions_.rend(),
                                    [kind](const memory_region& each) { return each.kind == kind; });
    return found == regions_.rend() ? none_ : *found;
}

}  // namespace millpond::layout
