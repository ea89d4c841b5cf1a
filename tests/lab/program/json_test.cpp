// SPDX-License-Identifier: BSL-1.0
// JSON values against those of nlohmann's library, which reads and writes the text.
#include "lab/program/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "lab/program/any_bytes.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::program {
namespace {

struct twins {
    json ours;
    nlohmann::ordered_json theirs;
};

template <class T>
twins of(T value) {
    return {json(value), nlohmann::ordered_json(value)};
}

twins random_value(std::mt19937_64& random, int depth) {
    switch (random() % (depth > 0 ? 9 : 7)) {
        case 0:
            return of(nullptr);
        case 1:
            return of(random() % 2 == 0);
        case 2:
            return of(static_cast<std::int64_t>(random()));
        case 3:
            return of(random());
        case 4:
            return of(static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000) / 8);
        case 5:
            return of(static_cast<int>(random() % 7) - 3);
        case 6:
            return of(std::string(random() % 3, static_cast<char>(' ' + random() % 90)) + "\n\xc3\xa9");
        case 7: {
            twins all{json::array(), nlohmann::ordered_json::array()};
            for (std::uint64_t n = random() % 4; n > 0; --n) {
                const twins one = random_value(random, depth - 1);
                all.ours.push_back(one.ours);
                all.theirs.push_back(one.theirs);
            }
            return all;
        }
        default: {
            twins all{json::object(), nlohmann::ordered_json::object()};
            for (std::uint64_t n = random() % 4; n > 0; --n) {
                const std::string name(1, static_cast<char>('a' + random() % 3));  // often there already
                const twins one = random_value(random, depth - 1);
                all.ours[name] = one.ours;
                all.theirs[name] = one.theirs;
            }
            return all;
        }
    }
}

TEST(json, is_written_and_read_as_by_the_library) {
    std::mt19937_64 random(test::seed());
    for (int i = 0; i < 3000; ++i) {
        const twins made = random_value(random, 4);
        for (const int indent : {-1, 0, 1, 2}) ASSERT_EQ(json_text(made.ours, indent), made.theirs.dump(indent));
        std::ostringstream shown;
        shown << made.ours;
        ASSERT_EQ(shown.str(), made.theirs.dump());
        ASSERT_EQ(parse_json(made.theirs.dump(2)), made.ours);
        ASSERT_EQ(made.ours.type_name(), std::string(made.theirs.type_name()));
        if (made.ours.is_array() || made.ours.is_object() || made.ours.is_null()) {
            ASSERT_EQ(made.ours.size(), made.theirs.size());
        }
        const twins other = random_value(random, 4);
        // nlohmann's objects in order are the same only in the same order.
        ASSERT_EQ(made.ours == other.ours, nlohmann::json(made.theirs) == nlohmann::json(other.theirs))
            << made.ours << " and " << other.ours;
        json moved = made.ours;
        const json to = std::move(moved);
        ASSERT_EQ(to, made.ours);
        ASSERT_TRUE(moved.is_null());  // NOLINT(bugprone-use-after-move)
    }
}

TEST(json, members_keep_their_order_and_are_the_same_in_another) {
    json one = json_object({{"b", 1}, {"a", json::array({1, "x", nullptr})}});
    EXPECT_EQ(json_text(one, -1), R"({"b":1,"a":[1,"x",null]})");
    EXPECT_EQ(one, parse_json(R"({"a": [1.0, "x", null], "b": 1})"));
    one.update(json_object({{"b", 2}, {"c", true}}));
    EXPECT_EQ(json_text(one, -1), R"({"b":2,"a":[1,"x",null],"c":true})");
    one.erase("a");
    EXPECT_EQ(json_text(one, -1), R"({"b":2,"c":true})");
    EXPECT_EQ(one.member("a"), nullptr);
    EXPECT_TRUE(one.value("a").is_null());
}

TEST(json, missing_members_and_other_kinds_are_refused) {
    json all = json_object({{"number", -2.5}, {"none", nullptr}, {"list", std::vector<int>{1, 2}}});
    const json& read = all;
    EXPECT_THROW((void)read["absent"], json_kind_error);
    EXPECT_THROW((void)read["list"][2], json_kind_error);
    EXPECT_THROW((void)read["number"].text(), json_kind_error);
    EXPECT_THROW((void)read["list"].get<int>(), json_kind_error);
    EXPECT_THROW((void)read["number"].get<bool>(), json_kind_error);
    EXPECT_THROW((void)read["number"].size(), json_kind_error);
    EXPECT_THROW((void)read["none"].back(), json_kind_error);
    EXPECT_THROW((void)read.begin(), json_kind_error);
    EXPECT_THROW(all["number"].push_back(1), json_kind_error);
    EXPECT_THROW(all["list"]["name"] = 1, json_kind_error);
    EXPECT_THROW((void)parse_json("{"), json_kind_error);
    EXPECT_EQ(read["number"].get<int>(), -2);
    EXPECT_EQ(read["none"].begin(), read["none"].end());
    all["none"]["made"].push_back(1);
    EXPECT_EQ(json_text(read["none"], -1), R"({"made":[1]})");
}

TEST(json, keeps_strings_of_any_bytes) {
    const json value = json_object({{"b\xe9", json::array({"x\xff"})}});
    const json read = parse_json(json_text(value));
    EXPECT_EQ(bytes_of(read.items()[0].name), "b\xe9");
    EXPECT_EQ(bytes_of(read.items()[0].value[0].text()), "x\xff");
}

}  // namespace
}  // namespace millpond::program
