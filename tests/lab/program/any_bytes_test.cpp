// SPDX-License-Identifier: BSL-1.0
// any_bytes: texts of any bytes are stored as UTF-8 and converted back.
#include "lab/program/any_bytes.hpp"

#include <gtest/gtest.h>

#include <random>

#include "lab/program/json.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::program {
namespace {

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
        EXPECT_EQ(json_text(bytes, -1), json_text(text, -1));
    }
    EXPECT_EQ(kept("latin\xe9"), "latin\xf4\x8f\xbf\xa9");
    EXPECT_EQ(kept("plain, \xc3\xa9"), "plain, \xc3\xa9");
}

}  // namespace
}  // namespace millpond::program
