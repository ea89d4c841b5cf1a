// SPDX-License-Identifier: BSL-1.0
// classic_record_test: statistics of heaps, at one moment and as a series, and the same of allocators that count.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <map>
#include <millpond/millpond.hpp>
#include <vector>

namespace millpond::classic {
namespace {

std::map<std::size_t, std::size_t> lists_of(const auto& heap) {
    std::map<std::size_t, std::size_t> found;
    heap.for_each_list([&](std::size_t number, std::size_t length) {
        if (length != 0) found[number] = length;
    });
    return found;
}

TEST(heap_record, bytes_requested_are_known_while_frees_are_sized) {
    bsd<offset_words, operation_counts> heap;
    void* const one = heap.allocate(100, 4);
    void* const two = heap.allocate(20, 4);
    EXPECT_EQ(heap.record().requested_bytes(), 120U);
    EXPECT_DOUBLE_EQ(heap.record().internal_fragmentation(), 1 - 120.0 / (128 + 32));
    heap.deallocate(one, 100, 4);
    EXPECT_EQ(heap.record().requested_bytes(), 20U);
    EXPECT_DOUBLE_EQ(heap.record().internal_fragmentation(), 1 - 20.0 / 32);
    heap.deallocate(two);
    EXPECT_FALSE(heap.record().requested_bytes());
    EXPECT_DOUBLE_EQ(heap.record().internal_fragmentation(), 1 - 120.0 / (128 + 32)) << "of all so far";
    heap.deallocate(nullptr);
    heap.reset();
    EXPECT_EQ(heap.record().requested_bytes(), 0U) << "no block is left";
    EXPECT_EQ(heap.record().internal_fragmentation(), 0.0);
}

TEST(heap_record, uncounted_heaps_have_no_requested_bytes) {
    bsd<> heap(std::size_t{1} << 20);
    static_cast<void>(heap.allocate(100, 8));
    EXPECT_FALSE(heap.record().is_counted);
    EXPECT_FALSE(heap.record().requested_bytes());
    EXPECT_EQ(heap.record().use.block_bytes, 128U);
    EXPECT_EQ(heap.record().use.mapped_bytes, std::size_t{1} << 20);
}

TEST(heap_record, parts_of_a_heap_are_one_record) {
    quick_fit<offset_words, operation_counts> heap;
    void* const small = heap.allocate(8, 4);
    void* const large = heap.allocate(100, 4);
    heap_record record = heap.record();
    EXPECT_EQ(record.done.allocations, 2U) << "and not the page of the small block";
    EXPECT_EQ(record.done.requested_bytes, 108U);
    EXPECT_EQ(record.requested_bytes(), 108U);
    EXPECT_GE(record.done.searches[0] + record.done.searches[1], 1U);
    heap.deallocate(large, 100, 4);
    heap.deallocate(small, 8, 4);
    record = heap.record();
    EXPECT_EQ(record.done.deallocations, 2U);
    EXPECT_EQ(record.requested_bytes(), 0U);
    EXPECT_EQ(record.use.blocks, 0U);
    EXPECT_EQ(lists_of(heap).at(1), 1U) << "the list of 8 bytes";
    EXPECT_EQ(lists_of(heap).size(), record.lists);
}

TEST(heap_record, lists_are_as_long_as_what_was_freed_to_them) {
    size_map<class_map<24, 40>, offset_words, operation_counts> heap;
    std::vector<void*> blocks;
    for (int i = 0; i < 9; ++i) blocks.push_back(heap.allocate(i < 3 ? 24 : 40, 8));
    for (void* const block : blocks) heap.deallocate(block);
    const auto lists = lists_of(heap);
    EXPECT_EQ(lists.at(0), 170U) << "all blocks of the page";
    EXPECT_EQ(lists.at(1), 102U);
    EXPECT_GE(heap.record().longest_list, 170U);
    gnu_local<offset_words> pages;
    void* const first = pages.allocate(32, 4);
    EXPECT_EQ(lists_of(pages).at(5), 127U) << "the rest of the page";
    pages.deallocate(first);
    EXPECT_EQ(lists_of(pages), (std::map<std::size_t, std::size_t>{{0, 1}})) << "one free page";
}

TEST(heap_record, counted_allocators_give_the_same_record) {
    counted<multipool<>> pool;
    void* const small = pool.allocate(20, 8);
    static_cast<void>(pool.allocate(100, 8));
    EXPECT_EQ(pool.record().use.blocks, 2U);
    EXPECT_EQ(pool.record().use.block_bytes, 24U + 112U);
    EXPECT_EQ(pool.record().requested_bytes(), 120U);
    EXPECT_EQ(pool.record().use.held_bytes, pool.held_bytes());
    pool.deallocate(small, 20, 8);
    EXPECT_DOUBLE_EQ(pool.record().internal_fragmentation(), 1 - 100.0 / 112);
    EXPECT_EQ(pool.record().done.deallocations, 1U);
    pool.reset();
    EXPECT_EQ(pool.record().use.block_bytes, 0U);

    counted<first_fit<>> heap;
    heap.deallocate(heap.allocate(100, 8), 100, 8);
    EXPECT_EQ(heap.record().requested_bytes(), 0U) << "of a heap that does not count";
    EXPECT_EQ(heap.record().use.free_blocks, 1U);
}

TEST(use_series, samples_are_a_step_apart_and_thinned_when_full) {
    std::array<use_sample, 4> room{};
    use_series<gnu_gxx<pointer_words, operation_counts>> heap(room, 10, std::size_t{1} << 20);
    std::vector<void*> blocks;
    const auto expect = [&](std::vector<std::uint64_t> operations) {
        std::vector<std::uint64_t> seen;
        for (const use_sample& sample : heap.samples()) {
            seen.push_back(sample.operation);
            EXPECT_EQ(sample.record.use.blocks, sample.operation);
            EXPECT_EQ(sample.record.requested_bytes(), 100 * sample.operation);
        }
        EXPECT_EQ(seen, operations);
    };
    for (int i = 0; i < 9; ++i) blocks.push_back(heap.allocate(100, 8));
    expect({});
    for (int i = 0; i < 31; ++i) blocks.push_back(heap.try_allocate(100, 8));
    expect({10, 20, 30, 40});
    for (int i = 0; i < 10; ++i) blocks.push_back(heap.allocate(100, 8));
    expect({20, 40});
    for (int i = 0; i < 50; ++i) blocks.push_back(heap.allocate(100, 8));
    expect({40, 80});
    heap.deallocate(blocks[0]);
    heap.deallocate(blocks[1], 100, 8);
    heap.reset();
    heap.release();
    for (int i = 0; i < 16; ++i) static_cast<void>(heap.allocate(100, 8));
    EXPECT_EQ(heap.samples().back().operation, 120U);
    EXPECT_EQ(heap.samples().back().record.use.blocks, 16U);
}

TEST(use_series, without_room_there_are_no_samples) {
    use_series<bsd<>> heap({}, 1);
    for (int i = 0; i < 100; ++i) static_cast<void>(heap.allocate(8, 8));
    EXPECT_TRUE(heap.samples().empty());
    std::array<use_sample, 1> one{};
    use_series<counted<multipool<>>> pool(one, 1);
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.allocate(8, 8));
    EXPECT_EQ(pool.samples().size(), 1U);
    EXPECT_EQ(pool.samples()[0].operation, 64U);
}

}  // namespace
}  // namespace millpond::classic
