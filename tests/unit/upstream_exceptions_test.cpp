// SPDX-License-Identifier: BSL-1.0
// upstream_exceptions_test: an exception of a source leaves every allocate unchanged, and no memory is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <new>
#include <optional>
#include <random>
#include <vector>

#include "support/seed.hpp"

namespace millpond {
namespace {

// A distinct kind of bad_alloc, so that a copy or another bad_alloc in its place is noticed.
struct refusal : std::bad_alloc {
    explicit refusal(int which) : number(which) {}
    int number;
};

// A resource that counts calls and bytes and throws from call `refused` on, until told otherwise.
class moody_resource : public std::pmr::memory_resource {
  public:
    int calls = 0;
    int refused = -1;
    bool throws_numbers = false;  // that are no std::exception at all
    int thrown = 0;
    std::size_t live_bytes = 0;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (++calls >= refused && refused >= 0) {
            if (throws_numbers) throw ++thrown;
            throw refusal(++thrown);
        }
        live_bytes += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        live_bytes -= bytes;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

// A standard allocator over a moody_resource, for std_source.
template <class T>
using moody_allocator = std::pmr::polymorphic_allocator<T>;
using std_upstream = std_source<moody_allocator<char>>;

// A source that has try_allocate and no allocate.
struct bare_source {
    explicit bare_source(std::pmr::memory_resource* resource) : to(resource) {}
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept { return to.try_allocate(bytes, alignment); }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        to.deallocate(block, bytes, alignment);
    }
    upstream_resource to;
};

template <class Pool>
struct made {
    explicit made(moody_resource& upstream) : pool(&upstream) {}
    Pool pool;
};
template <class Pool>
    requires std::is_constructible_v<Pool, byte_limit, std::pmr::memory_resource*>
struct made<Pool> {
    explicit made(moody_resource& upstream) : pool(byte_limit{detail::max_bytes}, &upstream) {}
    Pool pool;
};

template <class Pool>
class upstream_exceptions : public testing::Test {};

using pools = testing::Types<
    multipool<upstream_resource>, multipool<std_upstream>, multipool<monotonic<upstream_resource>>,
    multipool<limited<upstream_resource>>, multipool<counted<bare_source>>, monotonic<upstream_resource>,
    monotonic<std_upstream>, monotonic<multipool<upstream_resource>>, synchronized_multipool<upstream_resource>,
    synchronized_multipool<std_upstream>, compact_pool<24, upstream_resource>, compact_pool<200, std_upstream>,
    limited<multipool<upstream_resource>>, counted<multipool<upstream_resource>>, counted<bare_source>,
    limited<bare_source>, synchronized<multipool<upstream_resource>>, checked<multipool<upstream_resource>>,
    checked<monotonic<std_upstream>>, checked<synchronized_multipool<upstream_resource>>,
    resource<multipool<upstream_resource>>, std_upstream, upstream_resource>;
TYPED_TEST_SUITE(upstream_exceptions, pools);

struct block {
    void* start;
    std::size_t bytes;
    unsigned char mark;
};

std::size_t random_bytes(std::mt19937_64& random) {
    switch (random() % 10) {
        case 0:
            return random() % (std::size_t{3} << 20);
        case 1:
        case 2:
            return random() % 100'000;
        default:
            return random() % 300;
    }
}

template <class Pool>
void give_back(Pool& pool, const block& gone) {
    for (std::size_t i = 0; i < gone.bytes; i += 1 + gone.bytes / 16)
        ASSERT_EQ(static_cast<unsigned char*>(gone.start)[i], gone.mark);
    pool.deallocate(gone.start, gone.bytes, 8);
}

// Returns true if allocate threw the upstream's last exception; the block otherwise.
template <class Pool>
bool is_refused(Pool& pool, const moody_resource& upstream, std::size_t bytes, void*& start) {
    const int before = upstream.thrown;
    try {
        start = pool.allocate(bytes, 8);
        return false;
    } catch (const refusal& seen) {
        EXPECT_EQ(seen.number, upstream.thrown) << "of several the last is meant";
        EXPECT_GT(seen.number, before);
    } catch (int seen) {
        EXPECT_TRUE(upstream.throws_numbers);
        EXPECT_EQ(seen, upstream.thrown);
    } catch (...) {
        ADD_FAILURE() << "something else was thrown";
    }
    return true;
}

TYPED_TEST(upstream_exceptions, pass_unchanged_and_lose_no_memory) {
    std::mt19937_64 random(test::seed());
    int all_refusals = 0;
    for (int refused = 1; refused < 30; ++refused) {
        moody_resource upstream;
        upstream.throws_numbers = refused % 2 == 0;
        std::vector<block> blocks;
        int refusals = 0;
        {
            made<TypeParam> one(upstream);
            upstream.refused = refused;
            for (int i = 0; i < 300; ++i) {
                const std::size_t bytes = random_bytes(random);
                void* start = nullptr;
                if (is_refused(one.pool, upstream, bytes, start)) {
                    EXPECT_EQ(one.pool.try_allocate(std::size_t{3} << 20, 8), nullptr) << "quietly";
                    upstream.refused = upstream.calls + 1 + static_cast<int>(random() % 20);
                    ++refusals;
                    start = nullptr;
                    if (is_refused(one.pool, upstream, bytes, start)) continue;
                }
                const auto mark = static_cast<unsigned char>(random());
                std::memset(start, mark, bytes);
                blocks.push_back({start, bytes, mark});
                if (random() % 2 == 0) {
                    const std::size_t at = random() % blocks.size();
                    give_back(one.pool, blocks[at]);
                    blocks[at] = blocks.back();
                    blocks.pop_back();
                }
            }
            for (const block& gone : blocks) give_back(one.pool, gone);
        }
        EXPECT_EQ(upstream.live_bytes, 0u);
        EXPECT_TRUE(refusals > 0 || upstream.calls < refused) << "the call to be refused was made";
        all_refusals += refusals;
    }
    EXPECT_GT(all_refusals, 29);
}

TYPED_TEST(upstream_exceptions, are_dropped_if_no_caller_waits_for_them) {
    moody_resource upstream;
    upstream.refused = 1;
    made<TypeParam> one(upstream);
    EXPECT_EQ(one.pool.try_allocate(std::size_t{3} << 20, 8), nullptr);
    EXPECT_GE(upstream.thrown, 1) << "a pool may ask again, for less";
    limited<multipool<>> narrow(byte_limit{10});
    try {
        static_cast<void>(narrow.allocate(11, 8));
        ADD_FAILURE() << "the limit was passed";
    } catch (const refusal&) {
        ADD_FAILURE() << "an exception of another pool was thrown";
    } catch (const std::bad_alloc&) {
    }
}

TEST(upstream_exceptions_of_others, exceptions_met_by_a_limits_callback_are_not_thrown) {
    moody_resource upstream;
    upstream.refused = 1;
    limited<multipool<>> narrow(byte_limit{10});
    multipool<upstream_resource> other(&upstream);
    narrow.on_limit(
        [](void* context, std::size_t, std::size_t) {
            return static_cast<multipool<upstream_resource>*>(context)->try_allocate(24, 8) != nullptr;
        },
        &other);
    multipool<source_ref<limited<multipool<>>>> above(narrow);
    try {
        static_cast<void>(above.allocate(24, 8));
        ADD_FAILURE() << "the limit was passed";
    } catch (const refusal&) {
        ADD_FAILURE() << "an exception of another pool was thrown";
    } catch (const std::bad_alloc&) {
    }
    EXPECT_GT(upstream.thrown, 0);
}

TEST(upstream_exceptions_of_others, resources_upon_resources_hand_them_on) {
    moody_resource upstream;
    resource<multipool<upstream_resource>> below(&upstream);
    resource<monotonic<upstream_resource>> between(&below);
    std::pmr::vector<int> numbers(100, 7, &between);
    upstream.refused = upstream.calls + 1;
    EXPECT_THROW(numbers.resize(10'000'000), refusal);
    EXPECT_EQ(numbers, std::pmr::vector<int>(100, 7));
    upstream.refused = -1;
    numbers.resize(100'000);
}

TEST(upstream_exceptions_of_others, a_suballocator_hands_them_on) {
    moody_resource upstream;
    {
        using slots = suballocator<moody_allocator<int>>;
        std::list<int, slots> numbers{slots(moody_allocator<int>(&upstream))};
        for (int refusals = 0; refusals < 20; ++refusals) {
            upstream.refused = upstream.calls + 1;
            const std::size_t before = numbers.size();
            try {
                for (;;) numbers.push_back(static_cast<int>(numbers.size()));
            } catch (const refusal& seen) {
                EXPECT_EQ(seen.number, upstream.thrown);
            }
            upstream.refused = -1;
            EXPECT_GE(numbers.size(), before);
            int next = 0;
            for (const int number : numbers) ASSERT_EQ(number, next++);
            numbers.push_back(next);
        }
        slots handle = numbers.get_allocator();
        upstream.refused = upstream.calls + 1;
        EXPECT_THROW(static_cast<void>(handle.allocate(1000)), refusal);
    }
    EXPECT_EQ(upstream.live_bytes, 0u);
    upstream.refused = upstream.calls + 1;
    EXPECT_THROW(suballocator<moody_allocator<int>>(moody_allocator<int>(&upstream)), refusal);
    EXPECT_EQ(upstream.live_bytes, 0u);
}

TEST(upstream_exceptions_of_others, a_unique_pointer_hands_them_on) {
    moody_resource upstream;
    upstream.refused = 1;
    multipool<upstream_resource> pool(&upstream);
    EXPECT_THROW(static_cast<void>(allocate_unique<int>(pool, 3)), refusal);
    EXPECT_THROW(static_cast<void>(allocate_unique<int[]>(pool, 3)), refusal);
    EXPECT_THROW(static_cast<void>(allocate_unique<int[]>(pool, detail::max_bytes)), std::bad_array_new_length);
}

template <class Allocator>
void expect_lengths_refused(Allocator allocator) {
    using value = typename Allocator::value_type;
    constexpr std::size_t all = static_cast<std::size_t>(-1);
    for (const std::size_t n : {all, all / 2, all / sizeof(value) + 1}) {
        if (n <= all / sizeof(value)) continue;
        EXPECT_THROW(static_cast<void>(allocator.allocate(n)), std::bad_array_new_length) << n;
        EXPECT_THROW(static_cast<void>(allocator.allocate_at_least(n)), std::bad_array_new_length) << n;
    }
    // AddressSanitizer ends a program that asks its operator new for so much.
    if (!detail::address_sanitizer) {
        // Kept, since a compiler may remove an unused allocation.
        [[maybe_unused]] static value* volatile kept;
        EXPECT_THROW(kept = allocator.allocate(all / sizeof(value)), std::bad_alloc);
    }
}

TEST(array_lengths, overflowing_lengths_throw_bad_array_new_length) {
    multipool<> pool;
    expect_lengths_refused(allocator<int, multipool<>>(&pool));
    expect_lengths_refused(allocator<char[3], multipool<>>(&pool));
    synchronized_multipool<> shared;
    expect_lengths_refused(allocator<long double, synchronized_multipool<>>(&shared));
    expect_lengths_refused(suballocator<std::allocator<int>>());
#if !defined(_WIN32)  // where the aligned operator new of mingw-w64 wraps round
    expect_lengths_refused(suballocator<moody_allocator<std::pair<int, int>>>());
#endif
}

}  // namespace
}  // namespace millpond
