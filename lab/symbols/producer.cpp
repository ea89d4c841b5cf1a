// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/producer.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace millpond::symbols {
namespace {

using namespace std::string_view_literals;

// Returns the language for DW_AT_language, by the DWARF standard and its list of later codes.
std::string_view name_of(int language) {
    constexpr std::array c{0x1, 0x2, 0xc, 0x1d, 0x2c, 0x3e};
    constexpr std::array cpp{0x4, 0x19, 0x1a, 0x21, 0x2a, 0x2b, 0x3a};
    if (std::find(c.begin(), c.end(), language) != c.end()) return "C";
    if (std::find(cpp.begin(), cpp.end(), language) != cpp.end()) return "C++";
    constexpr std::array<std::pair<int, std::string_view>, 8> others{{{0x7, "Fortran"},
                                                                      {0x8, "Fortran"},
                                                                      {0xe, "Fortran"},
                                                                      {0x10, "Objective-C"},
                                                                      {0x11, "Objective-C++"},
                                                                      {0x13, "D"},
                                                                      {0x16, "Go"},
                                                                      {0x1c, "Rust"}}};
    const auto known =
        std::find_if(others.begin(), others.end(), [=](const auto& one) { return one.first == language; });
    return known != others.end() ? known->second : std::string_view();
}

// Returns "C++20" for "-std=gnu++2a"; names used before a standard was published stand for that standard.
std::string standard_of_option(std::string_view option) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> drafts{
        {{"0x", "11"}, {"1y", "14"}, {"1z", "17"}, {"2a", "20"}, {"2b", "23"}, {"2x", "23"}}};
    const bool is_cpp = option.find("++") != std::string_view::npos;
    const std::size_t number = option.find_first_of("0123456789");
    if (number == std::string_view::npos) return {};
    std::string_view year = option.substr(number);
    for (const auto& [draft, final] : drafts)
        if (year == draft) year = final;
    return (is_cpp ? "C++" : "C") + std::string(year);
}

std::string_view word_at(std::string_view text, std::size_t at) { return text.substr(at, text.find(' ', at) - at); }

}  // namespace

source_language language_of(int dwarf_language, std::string_view producer) {
    source_language found{std::string(name_of(dwarf_language)), {}};
    if (found.name != "C" && found.name != "C++") return found;
    constexpr std::string_view gnu = "GNU C", option = "-std=";
    if (producer.starts_with(gnu)) {
        const std::string_view word = word_at(producer, gnu.size() - 1);
        if (word.find_first_of("0123456789") != std::string_view::npos) found.standard = word;
    } else if (const std::size_t at = producer.find(option); at != std::string_view::npos) {
        found.standard = standard_of_option(word_at(producer, at + option.size()));
    }
    return found;
}

}  // namespace millpond::symbols
