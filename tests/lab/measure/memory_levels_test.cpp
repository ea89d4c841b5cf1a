// SPDX-License-Identifier: BSL-1.0
// memory_levels: caches from the kernel's files, translation buffers from the two forms of cpuid.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lab/measure/memory_levels.hpp"

namespace {

using namespace millpond::measure;

class kernel_files {
  public:
    kernel_files() { std::filesystem::create_directories(root_); }
    ~kernel_files() { std::filesystem::remove_all(root_); }
    void add(unsigned index, const char* level, const char* type, const char* size, const char* ways) {
        const auto folder = root_ / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
        std::filesystem::create_directories(folder);
        const std::map<const char*, const char*> files = {{"level", level},
                                                          {"type", type},
                                                          {"size", size},
                                                          {"ways_of_associativity", ways},
                                                          {"coherency_line_size", "64"}};
        for (const auto& [name, text] : files) std::ofstream(folder / name) << text << "\n";
    }
    std::string root() const { return root_.string(); }

  private:
    std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "memory_levels_test";
};

TEST(memory_levels, data_caches_are_those_of_the_kernel) {
    kernel_files files;
    files.add(0, "1", "Data", "48K", "12");
    files.add(1, "1", "Instruction", "32K", "8");
    files.add(2, "2", "Unified", "2048K", "16");
    files.add(3, "3", "Unified", "260M", "20");
    const auto found = data_caches(files.root());
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].bytes, 48U << 10);
    EXPECT_EQ(found[0].ways, 12U);
    EXPECT_EQ(found[1].level, 2U);
    EXPECT_EQ(found[2].bytes, std::uint64_t{260} << 20);
    EXPECT_TRUE(data_caches(files.root() + "/nowhere").empty());
}

cpuid_function made_of(std::map<std::pair<std::uint32_t, std::uint32_t>, cpuid_registers> leaves) {
    return [leaves](std::uint32_t leaf, std::uint32_t sub_leaf) {
        const auto found = leaves.find({leaf, sub_leaf});
        return found == leaves.end() ? cpuid_registers{} : found->second;
    };
}

TEST(memory_levels, buffers_are_read_from_leaf_18) {
    // For instructions 8 ways x 16 sets; for loads 6 x 16; a shared second level 12 x 128, and one of huge pages.
    const auto found = translation_buffers(made_of({{{0, 0}, {0x20, 0, 0, 0}},
                                                    {{0x18, 0}, {4, 0, 0, 0}},
                                                    {{0x18, 1}, {0, 8U << 16 | 1, 16, 2 | 1U << 5}},
                                                    {{0x18, 2}, {0, 12U << 16 | 1, 128, 3 | 2U << 5}},
                                                    {{0x18, 3}, {0, 6U << 16 | 1, 16, 4 | 1U << 5}},
                                                    {{0x18, 4}, {0, 4U << 16 | 2, 8, 1 | 1U << 5}}}));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].entries, 96U);
    EXPECT_EQ(found[0].ways, 6U);
    EXPECT_EQ(found[1].entries, 1536U);
    EXPECT_EQ(found[1].ways, 12U);
}

TEST(memory_levels, buffers_are_read_from_amds_leaves) {
    const auto found = translation_buffers(made_of({{{0, 0}, {0x10, 0, 0, 0}},
                                                    {{0x80000000, 0}, {0x8000001f, 0, 0, 0}},
                                                    {{0x80000005, 0}, {0, 0xffU << 24 | 64U << 16, 0, 0}},
                                                    {{0x80000006, 0}, {0, 6U << 28 | 2048U << 16, 0, 0}}}));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].entries, 64U);
    EXPECT_EQ(found[0].ways, 64U);
    EXPECT_EQ(found[1].entries, 2048U);
    EXPECT_EQ(found[1].ways, 8U);
}

TEST(memory_levels, untold_buffers_are_left_out_and_ways_divide) {
    EXPECT_TRUE(translation_buffers(made_of({})).empty());
    const auto found = translation_buffers(
        made_of({{{0x80000000, 0}, {0x80000006, 0, 0, 0}}, {{0x80000005, 0}, {0, 5U << 24 | 48U << 16, 0, 0}}}));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].ways, 4U);
    for (const translation_buffer& one : translation_buffers()) EXPECT_EQ(one.entries % one.ways, 0U);
}

}  // namespace
