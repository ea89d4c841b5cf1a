// SPDX-License-Identifier: BSL-1.0
// region_lives_test: random lives of region and of monotonic over it, with pages of several sizes, under limits, while
// the system sometimes refuses. Blocks are aligned, disjoint and kept, every null has a reason, and the counts of the
// pages and of the region agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <millpond/block/region.hpp>
#include <millpond/local/monotonic.hpp>
#include <vector>

#include "../unit/support/block_model.hpp"
#include "../unit/support/fake_pages.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::fake_pages;
using test::uniform;
using fake_region = basic_region<fake_pages>;

std::size_t random_bytes(std::mt19937_64& numbers) {
    switch (uniform(numbers, 0, 9)) {
        case 0:
            return uniform<std::size_t>(numbers, 0, 300000);
        case 1:
            return (std::size_t{1} << uniform(numbers, 0, 18)) + uniform<std::size_t>(numbers, 0, 2) - 1;
        default:
            return uniform<std::size_t>(numbers, 0, 5000);
    }
}

std::size_t random_alignment(std::mt19937_64& numbers) {
    return std::size_t{1} << (uniform(numbers, 0, 9) == 0 ? uniform(numbers, 0, 16) : uniform(numbers, 0, 4));
}

// Sets the pages, reservations and limits of a new life.
std::size_t set_up(std::mt19937_64& numbers) {
    fake_pages::start();
    const int shift = uniform(numbers, 0, 2);
    fake_pages::set.page_bytes <<= shift;
    fake_pages::set.granularity_bytes <<= shift + uniform(numbers, 0, 2);
    return std::size_t{1} << uniform(numbers, 14, 25);
}

// Returns true if the system may refuse something in the next operation.
bool refuse_now_and_then(std::mt19937_64& numbers) {
    fake_pages::never_fail();
    fake_pages::set.charge_limit = fake_pages::never;
    switch (uniform(numbers, 0, 19)) {
        case 0:
            fake_pages::fail_once_at(uniform<std::size_t>(numbers, 0, 2));
            return true;
        case 1:
            fake_pages::fail_from(uniform<std::size_t>(numbers, 0, 1));
            return true;
        case 2:
            fake_pages::set.charge_limit = fake_pages::charged_bytes + uniform<std::size_t>(numbers, 0, 200000);
            return true;
        default:
            return false;
    }
}

class life_of_a_region {
  public:
    explicit life_of_a_region(std::mt19937_64& numbers) : numbers_(numbers), source_(set_up(numbers)) {}

    void step() {
        const bool may_refuse = refuse_now_and_then(numbers_);
        const int choice = uniform(numbers_, 0, 99);
        if (choice == 99) {
            read_only(may_refuse);
        } else if (choice < 2) {
            choice == 0 ? source_.reset() : source_.release();
            model_.clear();
        } else if (model_.empty() || choice < 55) {
            allocate(choice % 4 == 0, may_refuse);
        } else if (choice < 75) {
            resize(uniform(numbers_, 0, 2) == 0 ? model_.any(numbers_) : highest(), may_refuse);
        } else {
            const auto block = uniform(numbers_, 0, 2) == 0 ? model_.any(numbers_) : highest();
            model_.remove(block.start);
            source_.deallocate(block.start, block.bytes, block.alignment);
        }
        EXPECT_LE(source_.used_bytes(), source_.held_bytes());
        EXPECT_LE(source_.held_bytes(), source_.limit_bytes() + fake_pages::size());
        EXPECT_EQ(source_.held_bytes(), fake_pages::charged_bytes);
        if (model_.empty()) {
            EXPECT_EQ(source_.used_bytes(), 0U);
        }
    }

    void end() { model_.check_all(); }

  private:
    [[nodiscard]] test::block_model::block highest() const {
        const auto& [start, promise] = *model_.live().rbegin();
        return {start, promise.bytes, promise.alignment};
    }

    // All contents stay, and no block is given, while the region is protected.
    void read_only(bool may_refuse) {
        const std::size_t used = source_.used_bytes();
        const bool is_protected = source_.protect();
        EXPECT_TRUE(is_protected || may_refuse);
        model_.check_all();
        if (is_protected) {
            EXPECT_EQ(source_.try_allocate(random_bytes(numbers_), random_alignment(numbers_)), nullptr);
            EXPECT_EQ(source_.used_bytes(), used);
        }
        fake_pages::never_fail();
        EXPECT_TRUE(source_.unprotect());
    }

    void allocate(bool at_least, bool may_refuse) {
        const std::size_t bytes = random_bytes(numbers_);
        const std::size_t alignment = random_alignment(numbers_);
        const std::size_t room = source_.limit_bytes() - source_.used_bytes();
        allocation given{nullptr, bytes};
        if (at_least) {
            given = source_.try_allocate_at_least(bytes, alignment);
        } else {
            given.start = source_.try_allocate(bytes, alignment);
        }
        if (given.start == nullptr) {
            EXPECT_TRUE(may_refuse || bytes + alignment > room) << bytes << " bytes did not fit in " << room;
        } else {
            EXPECT_GE(given.bytes, bytes);
            // Only the first block of all is certain to lie at the frontier: a later one may fill a hole.
            if (end_of_range_ == nullptr)
                end_of_range_ = static_cast<char*>(given.start) + given.bytes + (given.bytes == 0) +
                                source_.limit_bytes() - source_.used_bytes();
            model_.add(given.start, given.bytes, alignment);
        }
    }

    void resize(test::block_model::block block, bool may_refuse) {
        const std::size_t before = block.bytes + (block.bytes == 0);
        const std::size_t behind = static_cast<std::size_t>(end_of_range_ - static_cast<char*>(block.start)) - before;
        const bool last = behind == source_.limit_bytes() - source_.used_bytes();
        const std::size_t wanted =
            uniform(numbers_, 0, 1) == 0 ? uniform<std::size_t>(numbers_, 1, before) : before + random_bytes(numbers_);
        const std::size_t room = source_.limit_bytes() - source_.used_bytes();
        model_.remove(block.start);
        const auto* const first = static_cast<const unsigned char*>(block.start);
        const std::vector<unsigned char> contents(first, first + std::min(block.bytes, wanted));
        const std::size_t now = source_.try_resize(block.start, before, wanted);
        EXPECT_TRUE(std::equal(contents.begin(), contents.end(), first)) << "contents are kept";
        if (now < wanted) {
            EXPECT_EQ(now, before);
            EXPECT_TRUE(!last || may_refuse || wanted - before > room);
        }
        if (!last) {
            EXPECT_EQ(now, before);
        }
        model_.add(block.start, now, block.alignment);
    }

    std::mt19937_64& numbers_;
    fake_region source_;
    test::block_model model_;
    char* end_of_range_ = nullptr;
};

TEST(region_lives, blocks_are_kept_and_books_agree) {
    auto numbers = test::random_numbers();
    for (int life = 0; life < test::scaled(40, 10) && !testing::Test::HasFailure(); ++life) {
        SCOPED_TRACE(life);
        life_of_a_region region_of_this(numbers);
        for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) region_of_this.step();
        region_of_this.end();
    }
    EXPECT_EQ(fake_pages::reservations(), 0U);
    EXPECT_EQ(fake_pages::charged_bytes, 0U);
    fake_pages::start();
}

using fake_arena = monotonic<fake_region>;

TEST(region_lives, an_arena_keeps_what_is_older_than_its_checkpoints) {
    struct level {
        fake_arena::checkpoint_type place;
        test::block_model older;
    };
    auto numbers = test::random_numbers();
    for (int life = 0; life < test::scaled(15, 3) && !testing::Test::HasFailure(); ++life) {
        SCOPED_TRACE(life);
        const std::size_t limit = set_up(numbers) * 4;
        fake_arena pool(limit);
        std::vector<level> levels;
        test::block_model model;
        for (int step = 0; step < 600 && !testing::Test::HasFailure(); ++step) {
            const bool may_refuse = refuse_now_and_then(numbers);
            const int choice = uniform(numbers, 0, 99);
            if (choice < 6) {
                levels.push_back({pool.checkpoint(), model});
            } else if (choice < 14 && !levels.empty()) {
                levels.resize(uniform<std::size_t>(numbers, 1, levels.size()));
                pool.rewind(levels.back().place);
                model = levels.back().older;
                levels.pop_back();
                model.check_all();
            } else if (choice == 14) {
                uniform(numbers, 0, 1) == 0 ? pool.reset() : pool.release();
                levels.clear();
                model.clear();
            } else {
                const std::size_t bytes = random_bytes(numbers);
                const std::size_t alignment = random_alignment(numbers);
                // The range may be shorter than what was wanted: addresses were refused once.
                const std::size_t room = pool.source().limit_bytes() - pool.source().used_bytes();
                void* const block = pool.try_allocate(bytes, alignment);
                if (block != nullptr) {
                    model.add(block, bytes, alignment);
                } else {
                    EXPECT_TRUE(may_refuse || bytes + alignment + sizeof(detail::chunk_header) > room);
                }
            }
            EXPECT_EQ(pool.source().held_bytes(), fake_pages::charged_bytes);
        }
        model.check_all();
    }
    EXPECT_EQ(fake_pages::reservations(), 0U);
    fake_pages::start();
}

}  // namespace
}  // namespace millpond
