// SPDX-License-Identifier: BSL-1.0
// refused_new_test: a thread that cannot get even a few bytes may still use synchronized_multipool.
#include <gtest/gtest.h>

#include <millpond/local.hpp>
#include <new>
#include <vector>

#include "support/in_a_thread.hpp"

namespace {
thread_local bool new_refuses = false;  // of the form that returns null
}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    if (new_refuses) return nullptr;
    try {
        return ::operator new(bytes);
    } catch (...) {
        return nullptr;
    }
}

namespace millpond {
namespace {

using test::in_a_thread;

TEST(refused_new_threads, a_thread_without_a_magazine_is_served_and_shares_its_frees) {
    synchronized_multipool<> pool;
    std::vector<void*> blocks(500);
    for (void*& block : blocks) block = pool.allocate(64, 8);
    in_a_thread([&] {
        for (void* block : blocks) pool.deallocate(block, 64, 8);
    });
    const std::size_t held = pool.held_bytes();
    in_a_thread([&] {
        new_refuses = true;
        std::vector<void*> mine(200);
        for (void*& block : mine) EXPECT_NE(block = pool.try_allocate(64, 8), nullptr);
        for (void* block : mine) pool.deallocate(block, 64, 8);
    });
    for (void*& block : blocks) block = pool.allocate(64, 8);
    EXPECT_EQ(pool.held_bytes(), held);
}

}  // namespace
}  // namespace millpond
