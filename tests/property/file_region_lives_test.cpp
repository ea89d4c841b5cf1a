// SPDX-License-Identifier: BSL-1.0
// file_region_lives_test: random lives of a region over a file and over shared memory, watched through a second mapping
// of the same file. Blocks are kept and lie at their offsets in both, and the file is as long as the memory held.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <millpond/block/file_region.hpp>
#include <random>
#include <utility>

#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using os::file_pages;
using test::uniform;

class life_in_a_file {
  public:
    life_in_a_file(std::mt19937_64& numbers, file_pages pages)
        : numbers_(numbers), source_(std::size_t{1} << uniform(numbers, 16, 24), std::move(pages)) {}

    void step() {
        const int choice = uniform(numbers_, 0, 99);
        if (choice < 2) {
            choice == 0 ? source_.reset() : source_.release();
            model_.clear();
        } else if (choice < 5) {
            look_through_another_mapping();
        } else if (choice < 7) {
            ASSERT_TRUE(source_.protect());
            model_.check_all();
            EXPECT_EQ(source_.try_allocate(1, 1), nullptr);
            ASSERT_TRUE(source_.unprotect());
        } else if (model_.empty() || choice < 65) {
            allocate();
        } else {
            const auto block = model_.any(numbers_);
            model_.remove(block.start);
            source_.deallocate(block.start, block.bytes, block.alignment);
        }
        EXPECT_LE(source_.used_bytes(), source_.held_bytes());
        EXPECT_EQ(source_.held_bytes(), source_.page_source().bytes());
    }

    void end() { model_.check_all(); }

  private:
    void allocate() {
        const bool is_large = uniform(numbers_, 0, 9) == 0;
        const auto bytes = uniform<std::size_t>(numbers_, 0, is_large ? 300000 : 5000);
        const std::size_t alignment = std::size_t{1} << uniform(numbers_, 0, is_large ? 14 : 4);
        const std::size_t room = source_.limit_bytes() - source_.used_bytes();
        void* const block = source_.try_allocate(bytes, alignment);
        if (block != nullptr) {
            model_.add(block, bytes, alignment);
        } else {
            EXPECT_GT(bytes + alignment, room);
        }
    }

    void look_through_another_mapping() {
        file_region other(1, file_pages::adopt(dup(source_.page_source().descriptor())));
        for (const auto& [start, promise] : model_.live()) {
            if (promise.bytes == 0) continue;
            const auto* const seen = static_cast<const unsigned char*>(other.at(source_.offset_of(start)));
            ASSERT_NE(seen, nullptr);
            ASSERT_EQ(std::memcmp(seen, start, promise.bytes), 0);
        }
    }

    std::mt19937_64& numbers_;
    file_region source_;
    test::block_model model_;
};

void live(file_pages (*make)()) {
    auto numbers = test::random_numbers();
    for (int life = 0; life < test::scaled(20, 4) && !testing::Test::HasFailure(); ++life) {
        SCOPED_TRACE(life);
        life_in_a_file one(numbers, make());
        for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) one.step();
        one.end();
    }
}

TEST(file_region_lives, files_keep_their_blocks_at_their_offsets) {
    live([] { return file_pages::temporary(testing::TempDir().c_str()); });
}

TEST(file_region_lives, shared_memory_keeps_its_blocks_at_their_offsets) {
    file_pages tried = file_pages::shared("tried");
    if (tried.error() == std::errc::function_not_supported) GTEST_SKIP() << "this system has no memory files";
    live([] { return file_pages::shared("life"); });
}

}  // namespace
}  // namespace millpond
