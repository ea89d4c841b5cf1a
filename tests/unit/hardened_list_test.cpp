// SPDX-License-Identifier: BSL-1.0
// hardened_list_test: a hardened free_list finds a second free of its latest block, even without room for a seal.
#include <gtest/gtest.h>

#include <millpond/local.hpp>

namespace millpond {
namespace {

class hardened_list : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(sizes, hardened_list, testing::Values(8, 16, 64));

TEST_P(hardened_list, freeing_a_block_twice_in_a_row_ends_the_program) {
    alignas(16) char blocks[2][64] = {};
    detail::free_list list{};
    list.push(blocks[0], GetParam());
    list.push(blocks[1], GetParam());
    EXPECT_DEATH(list.push(blocks[1], GetParam()), "millpond: a block was freed twice: the block at ");
}

}  // namespace
}  // namespace millpond
