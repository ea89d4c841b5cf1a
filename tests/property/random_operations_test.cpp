// SPDX-License-Identifier: BSL-1.0
// random_operations_test: long random lives of every allocator against the model: blocks are aligned, disjoint and keep
// their contents; after release the source has everything back, with the sizes that it gave.
#include <gtest/gtest.h>

#include <array>
#include <memory_resource>
#include <millpond/millpond.hpp>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_slab_ref;
using test::accounting_slab_source;
using test::uniform;

// A source whose chunks are large and aligned to their size, without slabs.
class fixed_chunks : public test::accounting_source {
  public:
    static constexpr std::size_t preferred_chunk_bytes = 16384;
};

template <class Pool, class Source = test::accounting_source>
struct subject {
    using pool = Pool;
    using source = Source;
};

template <class Subject>
class random_operations : public testing::Test {};

using subjects = testing::Types<
    subject<monotonic<accounting_ref>>, subject<monotonic<monotonic<accounting_ref>>>,
    subject<multipool<accounting_ref>>, subject<multipool<accounting_ref, powers_of_two<4096>>>,
    subject<multipool<accounting_ref, exact_spacing<>>>,
    subject<multipool<accounting_ref, class_map<24, 40, 88, 504, 4096>>>, subject<multipool<monotonic<accounting_ref>>>,
    subject<multipool<multipool<accounting_ref>, powers_of_two<256>>>,
    subject<multipool<detail::basic_chunk_cache<accounting_ref>>>,
    subject<multipool<accounting_slab_ref, four_an_octave<4096>>, accounting_slab_source>,
    subject<multipool<source_ref<fixed_chunks>, four_an_octave<8192>>, fixed_chunks>,
    subject<monotonic<source_ref<fixed_chunks>>, fixed_chunks>, subject<synchronized<multipool<accounting_ref>>>,
    subject<synchronized_multipool<accounting_ref>>, subject<resource<multipool<accounting_ref>>>>;
TYPED_TEST_SUITE(random_operations, subjects);

// Returns mostly small, sometimes large sizes; the sizes at which something changes are frequent.
std::size_t random_bytes(std::mt19937_64& numbers) {
    switch (uniform(numbers, 0, 9)) {
        case 0:
            return uniform<std::size_t>(numbers, 0, 16);
        case 1:
            return uniform<std::size_t>(numbers, 0, 20000);
        case 2:
            return (std::size_t{1} << uniform(numbers, 0, 16)) + uniform<std::size_t>(numbers, 0, 2) - 1;
        default:
            return uniform<std::size_t>(numbers, 1, 200);
    }
}

std::size_t random_alignment(std::mt19937_64& numbers) {
    return std::size_t{1} << (uniform(numbers, 0, 9) == 0 ? uniform(numbers, 0, 13) : uniform(numbers, 0, 4));
}

TYPED_TEST(random_operations, blocks_are_aligned_disjoint_and_kept_and_all_memory_returns) {
    typename TypeParam::source source;
    {
        typename TypeParam::pool pool(source);
        test::block_model model;
        auto numbers = test::random_numbers();
        for (int step = 0; step < test::scaled(20000, 3000) && !testing::Test::HasFailure(); ++step) {
            const int choice = uniform(numbers, 0, 999);
            if (choice < 2) {
                model.check_all();
                choice == 0 ? pool.reset() : pool.release();
                model.clear();
            } else if (model.empty() || choice < (step / 2000 % 2 == 0 ? 600 : 400)) {
                const std::size_t bytes = random_bytes(numbers);
                const std::size_t alignment = random_alignment(numbers);
                model.add(pool.try_allocate(bytes, alignment), bytes, alignment);
            } else {
                const auto block = model.any(numbers);
                model.remove(block.start);
                pool.deallocate(block.start, block.bytes, block.alignment);
            }
        }
        model.check_all();
        pool.release();
        if constexpr (!std::is_same_v<typename TypeParam::pool, multipool<detail::basic_chunk_cache<accounting_ref>>>) {
            EXPECT_EQ(source.live_blocks(), 0u) << "release gives everything back";
        }
    }
    EXPECT_EQ(source.live_blocks(), 0u) << "the destructor gives everything back";
}

// In the model of rewinding, blocks older than the checkpoint stay, and all others may be handed out again.
TEST(random_operations, checkpoints_and_reset_and_release_in_any_order) {
    test::accounting_source source;
    monotonic<accounting_ref> pool(source);
    struct level {
        monotonic<accounting_ref>::checkpoint_type place;
        test::block_model older;
    };
    std::vector<level> levels;
    test::block_model model;
    auto numbers = test::random_numbers();
    for (int step = 0; step < test::scaled(10000, 1500) && !testing::Test::HasFailure(); ++step) {
        const int choice = uniform(numbers, 0, 99);
        if (choice < 4) {
            levels.push_back({pool.checkpoint(), model});
        } else if (choice < 8 && !levels.empty()) {
            levels.resize(uniform<std::size_t>(numbers, 1, levels.size()));
            pool.rewind(levels.back().place);
            model = levels.back().older;
            levels.pop_back();
            model.check_all();
        } else if (choice == 8 && uniform(numbers, 0, 9) == 0) {
            uniform(numbers, 0, 1) == 0 ? pool.reset() : pool.release();
            levels.clear();
            model.clear();
        } else {
            const std::size_t bytes = random_bytes(numbers);
            const std::size_t alignment = random_alignment(numbers);
            model.add(pool.try_allocate(bytes, alignment), bytes, alignment);
        }
    }
    model.check_all();
}

// Containers over one allocator, by both bindings, grow and end: their contents equal those of containers over
// std::allocator.
TEST(random_operations, containers_hold_what_standard_ones_hold) {
    test::accounting_source source;
    multipool<accounting_ref> pool(source);
    resource<multipool<accounting_ref>&> base(pool);
    using string = std::basic_string<char, std::char_traits<char>, allocator<char, multipool<accounting_ref>>>;
    std::map<int, string, std::less<>, allocator<std::pair<const int, string>, multipool<accounting_ref>>> by_type(
        &pool);
    std::pmr::map<int, std::pmr::string> by_base(&base);
    std::map<int, std::string> truth;
    auto numbers = test::random_numbers();
    for (int step = 0; step < test::scaled(20000, 3000); ++step) {
        const int key = uniform(numbers, 0, 300);
        if (uniform(numbers, 0, 2) == 0) {
            by_type.erase(key);
            by_base.erase(key);
            truth.erase(key);
        } else {
            const std::string text(uniform<std::size_t>(numbers, 0, 100), static_cast<char>('a' + key % 26));
            by_type[key].append(text.c_str());
            by_base[key].append(text);
            truth[key].append(text);
        }
    }
    ASSERT_EQ(by_type.size(), truth.size());
    ASSERT_EQ(by_base.size(), truth.size());
    for (const auto& [key, text] : truth) {
        EXPECT_EQ(by_type.at(key).c_str(), text);
        EXPECT_EQ(by_base.at(key).c_str(), text);
    }
}

}  // namespace
}  // namespace millpond
