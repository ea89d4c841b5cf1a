// SPDX-License-Identifier: BSL-1.0
// compact_sanitizer_test: AddressSanitizer knows which bytes of a pool's rows and range belong to a live slot.
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <millpond/block/fixed_buffer.hpp>
#include <millpond/block/new_delete.hpp>
#include <millpond/local/compact_pool.hpp>
#include <vector>

namespace millpond {
namespace {

bool is_open(const void* memory) { return __asan_address_is_poisoned(memory) == 0; }

template <class Pool>
void opens_what_was_asked_for(Pool& pool) {
    auto* const first = static_cast<char*>(pool.allocate(13, 8));
    auto* const second = static_cast<char*>(pool.allocate(24, 8));
    EXPECT_TRUE(is_open(first) && is_open(first + 12) && !is_open(first + 13));
    EXPECT_TRUE(is_open(second + 23) && !is_open(second + 24));
    pool.deallocate(first, 13, 8);
    EXPECT_FALSE(is_open(first));
    EXPECT_EQ(pool.allocate(1, 1), first);
    EXPECT_TRUE(is_open(first) && !is_open(first + 1));
    pool.reset();
    EXPECT_FALSE(is_open(first) || is_open(second));
}

TEST(compact_sanitizer, slots_of_a_row_are_open_while_they_are_live) {
    compact_pool<24, new_delete> pool;
    opens_what_was_asked_for(pool);
}

TEST(compact_sanitizer, slots_of_a_range_are_open_while_they_are_live) {
    compact_pool<24, new_delete> pool(promote_above{0});
    opens_what_was_asked_for(pool);
}

TEST(compact_sanitizer, opens_no_addresses_without_memory) {
    alignas(16) static char little[2048];
    compact_pool<24, fixed_buffer> pool(little, sizeof little);
    while (pool.try_allocate(24, 8) != nullptr) {
    }
    EXPECT_EQ(pool.try_allocate(24, 8), nullptr);
}

TEST(compact_sanitizer, memory_goes_back_open) {
    compact_pool<8, new_delete> pool;
    std::vector<void*> slots(100000);
    for (void*& slot : slots) slot = pool.allocate(8, 8);
    for (void* slot : slots) pool.deallocate(slot, 8, 8);
    const void* const in_range = slots.back();
    pool.release();
    EXPECT_TRUE(is_open(in_range)) << "whoever gets these addresses next may use them";
}

// Counts the closed bytes of memory that comes back.
struct expects_open_memory {
    static inline std::size_t closed_bytes = 0;

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return new_delete().try_allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        for (std::size_t i = 0; i < bytes; ++i) closed_bytes += !is_open(static_cast<char*>(block) + i);
        new_delete().deallocate(block, bytes, alignment);
    }
};

TEST(compact_sanitizer, rows_go_back_open) {
    {
        compact_pool<24, expects_open_memory> pool;
        for (int i = 0; i < 5; ++i) static_cast<void>(pool.allocate(24, 8));
        pool.release();
        static_cast<void>(pool.allocate(24, 8));
    }
    EXPECT_EQ(expects_open_memory::closed_bytes, 0u);
}

TEST(compact_sanitizer, a_second_free_is_reported) {
    compact_pool<24, new_delete> pool;
    void* const slot = pool.allocate(24, 8);
    pool.deallocate(slot, 24, 8);
    EXPECT_DEATH(pool.deallocate(slot, 24, 8), "use-after-poison");
}

}  // namespace
}  // namespace millpond
