// SPDX-License-Identifier: BSL-1.0
// numa_region_test: memory of one node. Every test holds on a machine with one node, and where the system refuses to
// bind memory.
#include <gtest/gtest.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstring>
#include <limits>
#include <millpond/block/numa_region.hpp>
#include <millpond/local/multipool.hpp>
#include <utility>

namespace millpond {
namespace {

using os::numa_pages;

static_assert(managed_allocator<numa_region> && rounding_source<numa_region> && resizing_source<numa_region>);

constexpr std::size_t mega = std::size_t{1} << 20;
constexpr unsigned no_node = std::numeric_limits<unsigned>::max();

class nodes : public testing::Test {
  protected:
    nodes() { errno = 77; }
    ~nodes() override { EXPECT_EQ(errno, 77) << "errno belongs to the caller"; }
};

// Returns the node on which the page lies, or -1 if the system does not tell it.
int node_of([[maybe_unused]] void* page) {
#if defined(__linux__) && defined(SYS_get_mempolicy)
    constexpr unsigned long of_an_address = 3;  // MPOL_F_NODE | MPOL_F_ADDR
    int node = -1;
    if (syscall(SYS_get_mempolicy, &node, nullptr, 0, page, of_an_address) == 0) return node;
    errno = 77;
#endif
    return -1;
}

TEST_F(nodes, the_node_of_this_thread_exists) {
    EXPECT_TRUE(numa_pages::has_node(numa_pages::current_node()));
    EXPECT_FALSE(numa_pages::has_node(no_node));
    EXPECT_FALSE(numa_pages::has_node(1024));
}

TEST_F(nodes, bound_memory_lies_on_its_node) {
    for (unsigned node = 0; node < 64; ++node) {
        if (!numa_pages::has_node(node)) continue;
        numa_region source(16 * mega, numa_pages(node));
        auto* const block = static_cast<char*>(source.try_allocate(mega, 8));
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, mega);
        EXPECT_EQ(source.page_source().node(), node);
        if (!source.page_source().is_bound()) continue;  // the system has refused
        const int found = node_of(block + mega / 2);
        if (found >= 0) {
            EXPECT_EQ(found, static_cast<int>(node));
        }
    }
}

TEST_F(nodes, a_node_that_does_not_exist_gives_ordinary_memory) {
    for (const unsigned node : {no_node, 1024U, 1023U}) {
        numa_region source(16 * mega, numa_pages(node));
        void* const block = source.try_allocate(mega, 8);
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, mega);
        EXPECT_NE(source.try_allocate(4 * mega, 8), nullptr);
        EXPECT_FALSE(source.page_source().is_bound());
    }
}

TEST_F(nodes, memory_that_comes_back_is_bound_again) {
    numa_region source(64 * mega, numa_pages());
    for (int round = 0; round < 3; ++round) {
        std::memset(source.allocate(20 * mega, 8), 1, 20 * mega);
        source.release();
        EXPECT_EQ(source.held_bytes(), 0U);
    }
    auto* const block = static_cast<char*>(source.allocate(mega, 8));
    for (std::size_t i = 0; i < mega; ++i) ASSERT_EQ(block[i], 0) << "new pages are empty";
}

TEST_F(nodes, a_pool_on_a_node_is_a_pool) {
    multipool<numa_region> pool(mega, numa_pages(numa_pages::current_node()));
    multipool<numa_region> other{numa_region::default_limit_bytes, numa_pages()};
    for (std::size_t bytes = 1; bytes < 5000; bytes *= 2) {
        for (auto* one : {&pool, &other}) std::memset(one->allocate(bytes, 8), 1, bytes);
    }
    EXPECT_EQ(pool.try_allocate(2 * mega, 8), nullptr);
}

TEST_F(nodes, a_reservation_keeps_its_node_when_it_moves) {
    basic_reservation<numa_pages> range(mega, numa_pages(0));
    ASSERT_TRUE(range.commit_to(1));
    basic_reservation<numa_pages> moved(std::move(range));
    ASSERT_TRUE(moved.commit_to(mega / 2));
    EXPECT_EQ(moved.page_source().node(), 0U);
}

}  // namespace
}  // namespace millpond
