// SPDX-License-Identifier: BSL-1.0
#include "lab/plan/near_names.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace millpond::plan {
namespace {

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// Returns the number of insertions, removals and replacements of letters between two names.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::vector<std::string> near_names(const std::string& wanted, const std::vector<std::string>& names,
                                    std::size_t count) {
    const std::string sought = lower(wanted);
    const std::size_t most = std::max<std::size_t>(2, sought.size() / 4);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const std::string& name : names) {
        const std::string candidate = lower(name);
        const std::size_t difference =
            candidate.size() > sought.size() ? candidate.size() - sought.size() : sought.size() - candidate.size();
        const bool contained =
            candidate.find(sought) != std::string::npos || sought.find(candidate) != std::string::npos;
        // A name that contains the other ranks behind any misspelling.
        if (contained && !candidate.empty() && !sought.empty())
            found.emplace_back(most + 1 + difference, name);
        else if (difference <= most && distance(sought, candidate) <= most)
            found.emplace_back(distance(sought, candidate), name);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> result;
    for (const auto& [rank, name] : found) {
        if (result.size() == count) break;
        if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
    }
    return result;
}

}  // namespace millpond::plan
