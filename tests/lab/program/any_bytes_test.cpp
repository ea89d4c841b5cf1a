// SPDX-License-Identifier: BSL-1.0
// Texts of any bytes: kept as UTF-8, and led back to.
#include "lab/program/any_bytes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "lab/program/json_text.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::program {
namespace {

using nlohmann::ordered_json;

TEST(any_bytes, leads_back_to_the_same_bytes) {
    std::mt19937_64 random(test::seed());
    const std::string pieces[] = {"a",        "\xc3\xa9", "\xe9",    "\xff", "\xf0\x9f\x92\xa7", "\xed\xa0\x80",
                                  "\xc0\x80", "\n",       "\xe2\x82"};
    for (int i = 0; i < 20000; ++i) {
        std::string bytes;
        for (std::uint64_t n = random() % 12; n > 0; --n)
            bytes += random() % 2 == 0 ? pieces[random() % std::size(pieces)]
                                       : std::string(1, static_cast<char>(random() % 0xf4));
        const std::string text = kept(bytes);
        EXPECT_EQ(bytes_of(text), bytes);
        EXPECT_EQ(kept(text), text);
        EXPECT_NO_THROW(ordered_json(text).dump());
    }
    EXPECT_EQ(kept("latin\xe9"), "latin\xf4\x8f\xbf\xa9");
    EXPECT_EQ(kept("plain, \xc3\xa9"), "plain, \xc3\xa9");
}

TEST(any_bytes, in_json_keeps_names_and_values) {
    const ordered_json value = {{"b\xe9", {"x\xff", 1, nullptr}}, {"a", "y"}};
    ordered_json read = ordered_json::parse(json_text(value, -1));
    change_strings(read, [](const std::string& one) { return bytes_of(one); });
    EXPECT_EQ(read, value);
    EXPECT_EQ(read.begin().key(), "b\xe9") << "in their order";
}

}  // namespace
}  // namespace millpond::program
