// SPDX-License-Identifier: BSL-1.0
// compact_pool_lives_test: long random lives against a model that knows every slot: the lowest free address comes
// first, contents stay, and empty rows and pages are returned, for slots of every size.
#include <gtest/gtest.h>

#include <millpond/block/source_ref.hpp>
#include <millpond/local/compact_pool.hpp>
#include <vector>

#include "../unit/support/scale.hpp"
#include "../unit/support/scattering_source.hpp"
#include "../unit/support/seed.hpp"
#include "../unit/support/slot_model.hpp"

namespace millpond {
namespace {

using test::accounting_source;
using test::fake_pages;
using test::ranged_source;
using test::uniform;

template <class Shape>
class compact_pool_lives : public testing::Test {
  protected:
    void SetUp() override { fake_pages::start(); }

    // One random life. `range_from`: whether the pool grows in a range from its first slot on.
    template <class Pool, class Source>
    static void live(Pool& pool, Source& source, bool range_only, int steps) {
        test::slot_model<Shape> model(source);
        std::vector<char*> live;
        auto numbers = test::random_numbers();
        for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
            const int choice = uniform(numbers, 0, 9999);
            const int tide = step / (steps / 6) % 3;  // flood, ebb, neither
            if (choice < 2) {
                pool.reset();
                live.clear();
                model.clear();
            } else if (choice < 4) {
                pool.release();
                EXPECT_EQ(source.live_blocks(), 0u);
                live.clear();
                model.forget();
            } else if (live.empty() || choice < (tide == 0 ? 7000 : tide == 1 ? 2500 : 5000)) {
                void* const block = pool.try_allocate(Shape::bytes, Shape::alignment);
                if (range_only && model.range() == nullptr) model.has_range_from(static_cast<char*>(block));
                model.add(block);
                live.push_back(static_cast<char*>(block));
            } else {
                std::swap(live[uniform<std::size_t>(numbers, 0, live.size() - 1)], live.back());
                model.remove(live.back());
                pool.deallocate(live.back(), Shape::bytes, Shape::alignment);
                live.pop_back();
                model.see_rows();
            }
            if (step % 1000 == 0) check(pool, model);
        }
        check(pool, model);
    }

    template <class Pool, class Model>
    static void check(Pool& pool, const Model& model) {
        const compact_pool_stats found = pool.stats();
        ASSERT_EQ(found.live_slots, model.live().size());
        ASSERT_GE(found.slots, model.live().size());
        std::size_t seen = 0;
        pool.for_each([&](void* slot) {
            ++seen;
            ASSERT_TRUE(model.live().count(static_cast<char*>(slot)));
        });
        ASSERT_EQ(seen, model.live().size());
    }
};

using shapes = testing::Types<slot_shape<8>, slot_shape<40>, slot_shape<1>, slot_shape<24>, slot_shape<64, 64>,
                              slot_shape<100>, slot_shape<600>, slot_shape<5000>, slot_shape<40, 8, std::uint32_t>,
                              slot_shape<8, 8, std::uint32_t>>;
TYPED_TEST_SUITE(compact_pool_lives, shapes);

TYPED_TEST(compact_pool_lives, random_lives_in_rows) {
    accounting_source source;
    basic_compact_pool<TypeParam, source_ref<accounting_source>> pool(source);
    this->live(pool, source, false, test::scaled(60000, 6000));
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TYPED_TEST(compact_pool_lives, random_lives_in_scattered_rows) {
    // About four times what a life has at once.
    test::scattering_source source((std::size_t{16} << 20) + detail::align_up(20000 * TypeParam::bytes, 4096));
    basic_compact_pool<TypeParam, source_ref<accounting_source>> pool(source);
    this->live(pool, source, false, test::scaled(60000, 6000));
    pool.release();
    EXPECT_EQ(source.live_blocks(), 0u);
}

TYPED_TEST(compact_pool_lives, random_lives_in_a_range) {
    ranged_source source;
    basic_compact_pool<TypeParam, source_ref<ranged_source>> pool(promote_above{0}, source);
    this->live(pool, source, true, test::scaled(60000, 6000));
    EXPECT_EQ(source.calls(), 0u);
    EXPECT_EQ(fake_pages::reservations(), 2u);
    pool.release();
    EXPECT_EQ(fake_pages::reservations(), 0u);
}

// After frees at random or in order, the pages in use are those that live slots touch, and a sixteenth more.
TYPED_TEST(compact_pool_lives, few_pages_without_live_slots_stay_in_use) {
    for (const int order : {0, 1, 2}) {
        ranged_source source;
        basic_compact_pool<TypeParam, source_ref<ranged_source>> pool(promote_above{0}, source);
        const std::size_t page = os::pages::size();
        std::vector<char*> live((std::size_t{8} << 20) / TypeParam::bytes / (TypeParam::bytes < 8 ? 8 : 1));
        for (char*& slot : live) slot = static_cast<char*>(pool.allocate(TypeParam::bytes, TypeParam::alignment));
        const std::size_t full = pool.stats().pages;
        const std::size_t leaf_bytes = TypeParam::bytes * 64;  // of a leaf some slots may be unused yet
        EXPECT_LE(full * page, live.size() * TypeParam::bytes + (std::size_t{64} << 10) + leaf_bytes + page);
        if (order == 1) std::reverse(live.begin(), live.end());
        if (order == 2) std::shuffle(live.begin(), live.end(), test::random_numbers());
        while (live.size() > 20) {
            pool.deallocate(live.back(), TypeParam::bytes, TypeParam::alignment);
            live.pop_back();
        }
        std::set<std::uintptr_t> touched;
        for (const char* slot : live) {
            for (std::size_t i = 0; i < TypeParam::bytes; ++i)
                touched.insert(reinterpret_cast<std::uintptr_t>(slot + i) / page);
        }
        const std::size_t in_hand = TypeParam::bytes * 64 / page + 1;
        // A sixteenth or 64 KiB; some pages are missed where slots lie across their ends.
        const std::size_t slack = detail::is_power_of_two(TypeParam::bytes) ? 17 : 24;
        EXPECT_LE(pool.stats().pages, touched.size() + touched.size() / 16 + slack + in_hand) << "order " << order;
        pool.trim();
        EXPECT_EQ(pool.stats().pages, touched.size()) << "order " << order;
        EXPECT_EQ(pool.stats().live_slots, 20u);
    }
}

}  // namespace
}  // namespace millpond
