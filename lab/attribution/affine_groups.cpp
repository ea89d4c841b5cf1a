// SPDX-License-Identifier: BSL-1.0
#include "lab/attribution/affine_groups.hpp"

#include <algorithm>
#include <optional>

namespace millpond::attribution {
namespace {

std::optional<unsigned> row_of(const affinity& of, std::uint32_t subject) {
    for (unsigned row = 0; row < of.rows(); ++row) {
        if (of.subject(row) == subject) return row;
    }
    return std::nullopt;
}

double strength_of_subjects(const affinity& of, std::uint32_t a, std::uint32_t b) {
    const std::optional<unsigned> row = row_of(of, a), other = row_of(of, b);
    return row && other ? strength(of, *row, *other) : 0;
}

using group = std::vector<std::uint32_t>;

// Returns the strength of the weakest pair between two groups.
double weakest(const affinity& of, const group& one, const group& other) {
    double least = 1;
    for (const std::uint32_t a : one) {
        for (const std::uint32_t b : other) least = std::min(least, strength_of_subjects(of, a, b));
    }
    return least;
}

}  // namespace

double strength(const affinity& of, unsigned a, unsigned b) {
    const std::uint64_t visits = of.visits(a) + of.visits(b);
    if (visits == 0) return 0;
    return static_cast<double>(of.met(a, b).near + of.met(b, a).near) / static_cast<double>(visits);
}

std::vector<group> affine_groups(const affinity& of, const std::vector<std::uint32_t>& subjects) {
    std::vector<group> groups;
    groups.reserve(subjects.size());
    for (const std::uint32_t subject : subjects) groups.push_back({subject});
    for (;;) {
        double best = strength_min;
        std::size_t one = 0, other = 0;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            for (std::size_t j = i + 1; j < groups.size(); ++j) {
                const double found = weakest(of, groups[i], groups[j]);
                if (found < best || (found == best && other != 0)) continue;
                best = found;
                one = i;
                other = j;
            }
        }
        if (other == 0) break;
        groups[one].insert(groups[one].end(), groups[other].begin(), groups[other].end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(other));
    }
    const auto place = [&](std::uint32_t subject) { return std::find(subjects.begin(), subjects.end(), subject); };
    for (group& each : groups)
        std::sort(each.begin(), each.end(), [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    return groups;
}

}  // namespace millpond::attribution
