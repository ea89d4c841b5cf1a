// SPDX-License-Identifier: BSL-1.0
// subsystem_map: the owner of an allocation, and owners that a user joins.
#include "lab/symbols/subsystem_map.hpp"

#include <gtest/gtest.h>

#include "small_program.hpp"

namespace millpond::test {
namespace {

using trace::event;

TEST(subsystems, are_owned_by_the_nearest_owner) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t add = program.frame(main, "book::add");
    const std::uint32_t through_library =
        program.frame(program.frame(add, "std::list<int>::push_back"), "operator new");
    const std::uint32_t through_wrapper = program.frame(add, "xmalloc");
    const std::uint32_t only_wrappers = program.frame(program.frame(0, "g_malloc"), "xmalloc");
    const std::uint32_t only_library = program.frame(0, "std::f");
    const pass found(program, {});
    const auto owner = [&](std::uint32_t context) {
        return found.subsystems.subsystems()[found.subsystems.subsystem_of(context)].name;
    };
    EXPECT_EQ(owner(through_library), "book");
    EXPECT_EQ(owner(through_wrapper), "book");
    EXPECT_EQ(owner(main), "main");
    EXPECT_EQ(owner(only_wrappers), "g_malloc");
    EXPECT_EQ(owner(only_library), "[unknown]");
    EXPECT_EQ(owner(0), "[unknown]");
}

TEST(subsystems, are_joined_by_patterns) {
    small_program program;
    const std::uint32_t main = program.frame(0, "main");
    const std::uint32_t a = program.frame(main, "shop::a::f"), b = program.frame(main, "shop::b::f");
    const std::vector<event> events{allocation(1 << 20, 1, 0x1000, 8, a), allocation(2 << 20, 1, 0x2000, 16, b)};
    const pass found(program, events, 1.0, {{"shops", "shop::*"}});
    EXPECT_EQ(found.counts("shops").bytes, 24u);
    const symbols::subsystem_identity& joined = found.subsystems.subsystems()[found.subsystem("shops")];
    EXPECT_EQ(joined.kind, "group");
    EXPECT_EQ(joined.owners, (std::vector<std::string>{"shop::a", "shop::b"}));
}

TEST(patterns, fit_whole_names) {
    EXPECT_TRUE(symbols::fits_pattern("*", ""));
    EXPECT_TRUE(symbols::fits_pattern("a*b*c", "aXbYbZc"));
    EXPECT_TRUE(symbols::fits_pattern("a?c", "abc"));
    EXPECT_TRUE(symbols::fits_pattern("*::x", "a::b::x"));
    EXPECT_FALSE(symbols::fits_pattern("a", "ab"));
    EXPECT_FALSE(symbols::fits_pattern("a*c", "ab"));
    EXPECT_FALSE(symbols::fits_pattern("", "a"));
}

}  // namespace
}  // namespace millpond::test
