// SPDX-License-Identifier: BSL-1.0
// Conversion of Dinero and lackey texts to references and back, and refused texts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"
#include "lab/simulate/din_writer.hpp"
#include "lab/simulate/text_source.hpp"
#include "lab/simulate/time_model.hpp"
#include "streams.hpp"
#include "tests/lab/trace/seed.hpp"

namespace millpond::test {
namespace {

using simulate::reference_batch;
using simulate::text_format;
using simulate::text_options;
using simulate::text_source;

class text : public ::testing::Test {
  protected:
    text() : folder_(::testing::TempDir() + "millpond_text_" + std::to_string(std::random_device{}())) {
        std::filesystem::create_directory(folder_);
    }
    ~text() override { std::filesystem::remove_all(folder_); }

    std::string written(const std::string& content) const {
        std::ofstream(path()) << content;
        return path();
    }
    std::string path() const { return folder_ + "/references"; }

    struct everything {
        stream references;
        std::uint64_t instructions = 0, flushes = 0, batches = 0;
    };
    everything read(const std::string& content, const text_options& options = {}) const {
        text_source source(written(content), options);
        everything all;
        for (reference_batch batch; source.next(batch); ++all.batches) {
            all.references.insert(all.references.end(), batch.references, batch.references + batch.count);
            all.instructions += batch.instructions;
            all.flushes += batch.flushes;
        }
        return all;
    }

    std::string refusal(const std::string& content, text_format format = text_format::automatic) const {
        try {
            read(content, {.format = format});
        } catch (const program::failure& error) {
            EXPECT_EQ(error.status, program::input);
            return error.what();
        }
        return "";
    }

  private:
    std::string folder_;
};

bool same(const millpond_reference& a, const millpond_reference& b) {
    return a.address == b.address && a.bytes == b.bytes && a.kind == b.kind;
}

TEST_F(text, lackey_lines_are_references) {
    const everything all = read(
        "==12== Lackey, an example\nI  04000d3b,3\n L 1ffe80,8\n S 1ffe88,16\n\nI  04000d3e,5\n M 0421d7ac,4\n"
        "SB 04000d3b\n--12-- done");
    EXPECT_EQ(all.instructions, 2u);
    ASSERT_EQ(all.references.size(), 3u);
    EXPECT_TRUE(same(all.references[0], at(0x1ffe80, 8, millpond_load)));
    EXPECT_TRUE(same(all.references[1], at(0x1ffe88, 16, millpond_store)));
    EXPECT_TRUE(same(all.references[2], at(0x421d7ac, 4, millpond_modify)));
}

TEST_F(text, din_lines_are_references) {
    const everything all = read("2 0\n0 1000 a comment\r\n1 0x7fff0010 10\n3 77\n4 0\n0 ffffffffffffffff 1");
    EXPECT_EQ(all.instructions, 1u);
    EXPECT_EQ(all.flushes, 1u);
    ASSERT_EQ(all.references.size(), 3u);
    // "a" is a hexadecimal digit, as it is to Dinero: comments behind an address must not begin with one.
    EXPECT_TRUE(same(all.references[0], at(0x1000, 10, millpond_load)));
    EXPECT_TRUE(same(all.references[1], at(0x7fff0010, 16, millpond_store)));
    EXPECT_TRUE(same(all.references[2], at(~std::uint64_t{0}, 1, millpond_load)));
}

TEST_F(text, batches_end_where_instructions_are_counted) {
    std::string lines;
    for (int i = 0; i < 10; ++i) lines += "I  1000,4\n L 2000,8\n L 2008,8\n";
    text_source source(written(lines), {.instructions_max = 4});
    std::vector<std::uint64_t> instructions;
    for (reference_batch batch; source.next(batch);) instructions.push_back(batch.instructions);
    EXPECT_EQ(instructions, (std::vector<std::uint64_t>{4, 4, 2}));
}

TEST_F(text, din_text_reads_back_unchanged) {
    std::mt19937_64 random(seed());
    stream all = random_stream(random, 20000, 5000, 64);
    stream expected;
    for (millpond_reference& r : all) {
        if (r.bytes == 0) r.bytes = 1;
        millpond_reference part = r;
        part.kind = millpond_load;
        if (r.kind != millpond_store) expected.push_back(part);
        part.kind = millpond_store;
        if (r.kind != millpond_load) expected.push_back(part);
    }
    simulate::din_writer writer(path());
    writer.take(all.data(), all.size());
    writer.commit();
    text_source source(path(), {});
    std::size_t next = 0;
    for (reference_batch batch; source.next(batch);) {
        for (std::size_t i = 0; i < batch.count; ++i) ASSERT_TRUE(same(batch.references[i], expected[next++]));
    }
    EXPECT_EQ(next, expected.size());
}

TEST_F(text, other_lines_are_refused_with_their_number) {
    EXPECT_NE(refusal(" L 10,8\nhello\n").find("line 2: not a line of lackey's"), std::string::npos);
    EXPECT_NE(refusal("0 10\n0 xyz\n").find("line 2: not a din line"), std::string::npos);
    EXPECT_NE(refusal("9 10\n"), "");
    EXPECT_NE(refusal(" L 10,0\n"), "");
    EXPECT_NE(refusal(" L 10,70000\n"), "");
    EXPECT_NE(refusal(" L 10,8 or so\n"), "");
    EXPECT_NE(refusal(" Q 10,8\n", text_format::lackey), "");
    EXPECT_NE(refusal("0 11112222333344445\n"), "");
    EXPECT_NE(refusal(std::string(10000, '1')), "");
    EXPECT_NE(refusal(std::string("0 10\n\0\0\0", 8)), "");
    EXPECT_EQ(read("").references.size(), 0u);
}

TEST_F(text, lines_across_reads_are_whole) {
    std::string lines;
    for (int i = 0; i < 60000; ++i) lines += "0 " + std::to_string(i) + " 4\n";
    const everything all = read(lines);
    ASSERT_EQ(all.references.size(), 60000u);
    EXPECT_EQ(all.references.back().address, 0x59999u);
    EXPECT_GT(all.batches, 10u);
}

TEST(time_model, is_instructions_and_the_wait_for_each_miss) {
    EXPECT_EQ(simulate::time_cycles(1000, 0, 25), 1000);
    EXPECT_EQ(simulate::time_cycles(1000, 10, 25), 1250);
    EXPECT_EQ(simulate::time_cycles(0, 3, 0.5), 1.5);
}

}  // namespace
}  // namespace millpond::test
