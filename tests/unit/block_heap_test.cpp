// SPDX-License-Identifier: BSL-1.0
// block_heap_test: blocks cut from large runs: the run that serves each size, and heads that are never overwritten.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <millpond/core/detail/sanitizer.hpp>
#include <millpond/local/detail/block_heap.hpp>
#include <millpond/os/pages.hpp>
#include <vector>

namespace millpond::detail {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

// Addresses whose memory comes with the first touch.
class wide_memory {
  public:
    explicit wide_memory(std::size_t bytes) : bytes_(bytes), begin_(static_cast<char*>(os::pages::reserve(bytes))) {
        if (begin_ == nullptr || !os::pages::commit(begin_, bytes_)) std::abort();
    }
    wide_memory(const wide_memory&) = delete;
    wide_memory& operator=(const wide_memory&) = delete;
    ~wide_memory() {
        unpoison(begin_, bytes_);
        os::pages::release(begin_, bytes_);
    }
    [[nodiscard]] char* at(std::size_t offset) const { return begin_ + offset; }

  private:
    std::size_t bytes_;
    char* begin_;
};

// Allocates from the heap. gcc, if it knew the size, would warn of bins that hold none of the heap's runs.
void* take(block_heap& heap, std::size_t bytes) {
    const volatile std::size_t untold = bytes;
    return heap.try_allocate(untold);
}

// In a bin sixteen runs are examined; in the last bin, whose runs have any size, as many as necessary.
TEST(block_heap, the_last_bin_is_searched_to_its_end_for_a_huge_block) {
    constexpr int small_runs = 20;
    const wide_memory memory(small_runs * 5 * mega + 16 * mega);
    block_heap heap;
    char* const large = memory.at(small_runs * 5 * mega);
    heap.add(large, large + 16 * mega);
    for (int i = 0; i < small_runs; ++i) heap.add(memory.at(i * 5 * mega), memory.at((i + 1) * 5 * mega));
    EXPECT_EQ(take(heap, 17 * mega), nullptr);
    void* const block = take(heap, 12 * mega);
    EXPECT_GE(static_cast<char*>(block), large);
    void* const other = take(heap, 12 * mega);
    EXPECT_EQ(other, nullptr);
    heap.deallocate(block);
    EXPECT_EQ(take(heap, 12 * mega), block);
}

// In all other bins sixteen misfits end the search, and a larger bin serves.
TEST(block_heap, other_bins_are_searched_sixteen_runs_deep) {
    constexpr int tight_runs = 20;
    const std::size_t tight = mega + 64 * 1024;
    const wide_memory memory(tight_runs * tight + 8 * mega);
    block_heap heap;
    char* const fitting = memory.at(tight_runs * tight);
    heap.add(fitting, fitting + mega + 200 * 1024);
    for (int i = 0; i < tight_runs; ++i) heap.add(memory.at(i * tight), memory.at((i + 1) * tight));
    char* const larger = fitting + 2 * mega;
    heap.add(larger, larger + 3 * mega);
    EXPECT_GE(static_cast<char*>(take(heap, mega + 150 * 1024)), larger);
}

TEST(block_heap, absorbed_runs_serve_from_every_bin) {
    const wide_memory memory(8 * mega);
    block_heap heap, other;
    heap.add(memory.at(0), memory.at(mega));
    other.add(memory.at(mega), memory.at(2 * mega));
    other.add(memory.at(2 * mega), memory.at(8 * mega));
    heap.absorb(other);
    EXPECT_EQ(take(other, 5000), nullptr);
    std::vector<void*> blocks;
    for (const std::size_t bytes : {5 * mega, mega - 128, mega - 128}) blocks.push_back(take(heap, bytes));
    for (void* block : blocks) {
        ASSERT_NE(block, nullptr);
        heap.deallocate(block);
    }
}

// A run of a larger bin holds a block of any size.
TEST(block_heap, a_block_of_any_size_comes_out_of_a_larger_run) {
    const wide_memory memory(32 * mega);
    for (std::size_t bytes = block_heap::least_block_bytes; bytes < 12 * mega; bytes += bytes / 7) {
        block_heap heap;
        heap.add(memory.at(0), memory.at(16 * mega));
        std::vector<char*> blocks;
        for (void* block; (block = take(heap, bytes)) != nullptr;) blocks.push_back(static_cast<char*>(block));
        EXPECT_EQ(blocks.size(), (16 * mega - 64) / block_heap::spacing(bytes)) << bytes;
        for (char* block : blocks) {
            unpoison(block, bytes);
            *block = 0;
        }
        for (char* block : blocks) {
            EXPECT_EQ(*block, 0) << "no block reaches into the next";
            *block = block[bytes - 1] = 1;
        }
        for (char* block : blocks) {
            poison(block, bytes);
            heap.deallocate(block);
        }
        EXPECT_NE(take(heap, 15 * mega), nullptr) << "they are one again";
    }
}

}  // namespace
}  // namespace millpond::detail
