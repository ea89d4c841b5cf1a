// SPDX-License-Identifier: BSL-1.0
// library_sequence: the lines of a text that is edited in the middle, with bookmarks that stay at their lines.
//
// Lines are found by number, inserted, cut and pasted in O(log n). In a std::vector each insertion would move all lines
// behind it, and every edit would have to correct the number in each bookmark.
#include <cstdio>
#include <millpond/container.hpp>
#include <string>
#include <utility>

namespace {

using text = millpond::pooled_vector_tree<std::string>;

// Effects: moves lines [first, last) in front of the line that then has the number `to`.
void cut_and_paste(text& lines, std::size_t first, std::size_t last, std::size_t to) {
    text behind = lines.split(last);
    text cut = lines.split(first);
    lines.append(std::move(behind));
    text rest = lines.split(to);
    lines.append(std::move(cut));
    lines.append(std::move(rest));
}

}  // namespace

int main() {
    text lines;
    for (int i = 0; i < 100'000; ++i) lines.push_back("line " + std::to_string(i));
    const auto bookmark = lines.nth(60'000);

    for (int i = 0; i < 1000; ++i) lines.insert(lines.nth(500), "a new line");
    lines.erase(lines.nth(0), lines.nth(100));
    cut_and_paste(lines, 60'000, 70'000, 10);

    const std::size_t number = lines.index_of(bookmark);
    std::printf("the bookmark is at \"%s\", now line %zu of %zu\n", bookmark->c_str(), number, lines.size());
    return *bookmark == "line 60000" && number == 910 && lines.size() == 100'900 ? 0 : 1;
}
