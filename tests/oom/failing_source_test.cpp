// SPDX-License-Identifier: BSL-1.0
// failing_source_test: the n-th call of the source fails, for every n, once or permanently. A failed request gives
// null, earlier promises are kept, and the allocator goes on as soon as the source does.
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <map>
#include <millpond/millpond.hpp>
#include <string>
#include <vector>

#include "../unit/support/accounting_source.hpp"
#include "../unit/support/block_model.hpp"
#include "../unit/support/scale.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

using test::accounting_ref;
using test::accounting_source;
using test::uniform;

template <class Pool, class Source = accounting_source>
struct subject {
    using pool = Pool;
    using source = Source;
};

template <class Subject>
class failing_source : public testing::Test {};

using subjects = testing::Types<
    subject<monotonic<accounting_ref>>, subject<multipool<accounting_ref>>,
    subject<multipool<accounting_ref, powers_of_two<>>>, subject<multipool<accounting_ref, exact_spacing<>>>,
    subject<multipool<accounting_ref, class_map<24, 104, 1000>>>, subject<multipool<monotonic<accounting_ref>>>,
    subject<multipool<detail::basic_chunk_cache<accounting_ref>>>, subject<resource<multipool<accounting_ref>>>,
    subject<synchronized<multipool<accounting_ref>>>, subject<synchronized_multipool<accounting_ref>>,
    subject<compact_pool<24, accounting_ref>>,
    subject<multipool<source_ref<test::accounting_loose_slab_source>>, test::accounting_loose_slab_source>,
    subject<multipool<test::accounting_slab_ref, four_an_octave<8192>>, test::accounting_slab_source>>;
TYPED_TEST_SUITE(failing_source, subjects);

// Plays one random life of a pool that may refuse blocks. Returns the number of refusals.
template <class Pool>
int live_on(Pool& pool, test::block_model& model, std::uint64_t salt) {
    int refused = 0;
    auto numbers = test::random_numbers(salt);
    const int steps = test::scaled(600, 150);
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
        if (step == steps / 2) {
            model.check_all();
            pool.reset();
            model.clear();
        }
        if (!test::live_a_step(pool, model, numbers, step % 50 == 0 ? 60000 : 300, step % 50 == 1 ? 12 : 4)) ++refused;
    }
    model.check_all();
    return refused;
}

template <class Subject>
std::size_t calls_of_a_whole_life() {
    typename Subject::source source;
    typename Subject::pool pool(source);
    test::block_model model;
    EXPECT_EQ(live_on(pool, model, 0), 0);
    return source.calls();
}

TYPED_TEST(failing_source, one_failure_costs_at_most_one_block_and_nothing_else) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    ASSERT_GT(calls, 1u);
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        typename TypeParam::source source;
        typename TypeParam::pool pool(source);
        test::block_model model;
        source.fail_once_at(n);
        EXPECT_LE(live_on(pool, model, 0), 1);
        pool.release();
    }
}

TYPED_TEST(failing_source, exhausted_source_keeps_blocks_and_reuses_freed_ones) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        typename TypeParam::source source;
        typename TypeParam::pool pool(source);
        test::block_model model;
        source.fail_from(n);
        live_on(pool, model, 0);
        source.never_fail();
        pool.reset();
        model.clear();
        EXPECT_EQ(live_on(pool, model, 1), 0) << "works again when the source does";
        pool.release();
    }
}

TYPED_TEST(failing_source, a_failed_allocate_throws_and_changes_nothing) {
    typename TypeParam::source source;
    typename TypeParam::pool pool(source);
    void* const before = pool.allocate(100, 8);
    source.fail_from(0);
    const std::size_t live = source.live_bytes();
    for (int i = 0; i < 100; ++i) EXPECT_THROW(static_cast<void>(pool.allocate(200000, 8)), std::bad_alloc);
    EXPECT_EQ(source.live_bytes(), live);
    source.never_fail();
    EXPECT_NE(pool.allocate(200000, 8), nullptr);
    pool.deallocate(before, 100, 8);
}

TEST(failing_source, a_block_freed_before_the_failure_serves_after_it) {
    accounting_source source;
    multipool<accounting_ref> pool(source);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks) block = pool.allocate(100, 8);
    source.fail_from(0);
    for (void* block : blocks) pool.deallocate(block, 100, 8);
    for (int i = 0; i < 1000; ++i) EXPECT_NE(pool.try_allocate(100, 8), nullptr);
}

// Containers over our bindings give the same strong guarantee as over std::allocator.
template <class Fill>
void fails_everywhere(Fill fill) {
    std::size_t failures = 0;
    for (std::size_t n = 0;; ++n) {
        accounting_source source;
        multipool<accounting_ref, class_map<8>> pool(source);  // nearly every block is a call of the source
        source.fail_once_at(n);
        bool failed = false;
        try {
            fill(pool);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        // A pool that is refused a chunk asks for a smaller one.
        ASSERT_TRUE(!failed || source.failures() > 0);
        EXPECT_LE(source.live_blocks(), 2u) << "the containers gave back all but the chunks";
        failures += failed;
        if (source.failures() == 0) break;
    }
    EXPECT_GT(failures, 10u);
}

using small_pool = multipool<accounting_ref, class_map<8>>;
template <class T>
using bound = allocator<T, small_pool>;
using string = std::basic_string<char, std::char_traits<char>, bound<char>>;

TEST(failing_source, nested_containers_by_type_survive_every_failure) {
    fails_everywhere([](small_pool& pool) {
        std::map<int, std::vector<string, bound<string>>, std::less<>,
                 bound<std::pair<const int, std::vector<string, bound<string>>>>>
            index(&pool);
        for (int i = 0; i < 20; ++i) index[i % 7].emplace_back(100u, 'x');
        std::deque<string, bound<string>> queue(&pool);
        std::list<string, bound<string>> list(&pool);
        for (int i = 0; i < 10; ++i) queue.emplace_back(50u, 'y'), list.emplace_back(50u, 'z');
    });
}

TEST(failing_source, nested_containers_by_base_survive_every_failure) {
    fails_everywhere([](small_pool& pool) {
        resource<small_pool&> base(pool);
        std::pmr::map<int, std::pmr::vector<std::pmr::string>> index(&base);
        for (int i = 0; i < 20; ++i) index[i % 7].emplace_back(100u, 'x');
        std::pmr::unordered_map<int, std::pmr::string> hashed(&base);
        for (int i = 0; i < 30; ++i) hashed.emplace(i, std::pmr::string(60u, 'y', &base));
    });
}

TEST(failing_source, winking_out_survives_every_failure) {
    fails_everywhere([](small_pool& pool) {
        wink_out<std::vector<string, bound<string>>, small_pool> texts(pool);
        for (int i = 0; i < 20; ++i) texts->emplace_back(100u, 'x');
    });
}

}  // namespace
}  // namespace millpond
