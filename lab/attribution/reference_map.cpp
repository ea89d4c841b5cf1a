// SPDX-License-Identifier: BSL-1.0
#include "lab/attribution/reference_map.hpp"

#include <algorithm>

namespace millpond::attribution {

void reference_map::granule::add(const granule& other) {
    for (unsigned i = 0; i < columns; ++i) {
        of_column[i].references += other.of_column[i].references;
        of_column[i].misses += other.of_column[i].misses;
    }
    for (unsigned i = 0; i < places_max; ++i) of_place[i] += other.of_place[i];
}

void reference_map::coarsen() {
    std::unordered_map<std::uint64_t, std::unique_ptr<granule>> old;
    old.swap(granules_);
    ++granule_log2_;
    for (auto& [name, each] : old) {
        std::unique_ptr<granule>& place = granules_[name >> 1];
        if (place)
            place->add(*each);
        else
            place = std::move(each);
    }
    std::fill(known_.begin(), known_.end(), known_granule{});
}

void reference_map::find(known_granule& known, std::uint64_t name) {
    std::unique_ptr<granule>* place = &granules_[name];
    if (!*place) *place = std::make_unique<granule>();
    if (granules_.size() <= granules_max) {
        known = {name, place->get()};
        return;
    }
    const unsigned before = granule_log2_;
    while (granules_.size() > granules_max) coarsen();
    name >>= granule_log2_ - before;
    // Forget the entry: under its new name it may belong to another place in memory.
    known = {~std::uint64_t{0}, granules_.at(name).get()};
}

std::vector<std::size_t> reference_map::row_beginnings(const std::vector<std::uint64_t>& names) const {
    std::vector<std::size_t> gaps{0};
    for (std::size_t i = 1; i < names.size(); ++i) {
        if ((names[i] - names[i - 1]) << granule_log2_ > gap_max) gaps.push_back(i);
    }
    if (gaps.size() > rows_max / 2) gaps.assign(1, 0);
    gaps.push_back(names.size());
    for (std::size_t granules_a_row = (names.size() + rows_max - 1) / rows_max;; ++granules_a_row) {
        std::vector<std::size_t> beginnings;
        for (std::size_t gap = 0; gap + 1 < gaps.size(); ++gap) {
            for (std::size_t i = gaps[gap]; i < gaps[gap + 1]; i += granules_a_row) beginnings.push_back(i);
        }
        if (beginnings.size() <= rows_max) return beginnings;
    }
}

reference_map::picture reference_map::draw() const {
    picture all;
    all.granule_bytes = std::uint64_t{1} << granule_log2_;
    std::vector<std::uint64_t> names;
    names.reserve(granules_.size());
    for (const auto& [name, each] : granules_) names.push_back(name);
    if (names.empty()) return all;
    std::sort(names.begin(), names.end());
    const std::vector<std::size_t> beginnings = row_beginnings(names);
    std::uint64_t below = 0;  // the end of the row below
    for (std::size_t r = 0; r < beginnings.size(); ++r) {
        const std::size_t end = r + 1 < beginnings.size() ? beginnings[r + 1] : names.size();
        granule sum;
        for (std::size_t i = beginnings[r]; i < end; ++i) sum.add(*granules_.at(names[i]));
        const std::uint64_t first = names[beginnings[r]] << granule_log2_;
        const std::uint64_t bytes = (names[end - 1] - names[beginnings[r]] + 1) << granule_log2_;
        const auto most = std::max_element(sum.of_place.begin(), sum.of_place.end());
        all.rows.push_back(
            {first, bytes, r == 0 ? 0 : first - below, static_cast<unsigned>(most - sum.of_place.begin())});
        below = first + bytes;
        for (unsigned c = 0; c < columns; ++c) {
            const counts& at = sum.of_column[c];
            if (at.references > 0) all.cells.push_back({r, c, at.references, at.misses});
        }
    }
    return all;
}

}  // namespace millpond::attribution
