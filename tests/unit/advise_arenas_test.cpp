// SPDX-License-Identifier: BSL-1.0
// advise_arenas_test: arenas of calls and of threads: nesting, exceptions, containers that leave their arena.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/in_a_thread.hpp"
#include "support/places.hpp"

namespace millpond {
namespace {

using test::expect_objects_are_made_and_destroyed;
using test::in_a_thread;
using test::is_aligned;

using calls = advise::scope_arena<struct calls_tag, 5000>;
using outermost = advise::outermost_scope_arena<struct calls_tag>;
using threads = advise::thread_arena<struct threads_tag>;

const char* const long_text = "a text that is longer than the small buffer of any string";

TEST(scope_arena, each_scope_has_an_arena_of_its_own) {
    EXPECT_EQ(calls::current(), nullptr);
    calls::scope outer;
    EXPECT_EQ(calls::current(), &outer.arena());
    const calls::vector<int> early(100);
    {
        calls::scope inner;
        EXPECT_NE(&inner.arena(), &outer.arena());
        EXPECT_EQ(calls::vector<int>(100).get_allocator().target(), &inner.arena());
        EXPECT_EQ(calls::vector<int>(early).get_allocator().target(), &inner.arena()) << "a copy is of this call";
        EXPECT_EQ(calls::resource(), inner.resource());
    }
    EXPECT_EQ(calls::current(), &outer.arena());
    EXPECT_EQ(early.get_allocator().target(), &outer.arena());
}

TEST(scope_arena, inner_scopes_use_the_arena_of_the_outermost) {
    outermost::scope outer;
    outermost::string* text = nullptr;
    {
        outermost::scope middle;
        outermost::scope inner;
        EXPECT_TRUE(&inner.arena() == &outer.arena() && &middle.arena() == &outer.arena());
        text = outermost::make<outermost::string>(long_text);
    }
    EXPECT_EQ(*text, long_text) << "it lives until the outermost call ends";
    outermost::destroy(text);
}

TEST(scope_arena, outside_of_every_scope_the_heap_serves) {
    calls::vector<int> numbers(100, 7);
    EXPECT_EQ(numbers.get_allocator().target(), nullptr);
    EXPECT_EQ(calls::resource(), std::pmr::new_delete_resource());
    {
        calls::scope scope;
        const calls::vector<int> inside(200, 8);
        numbers = inside;
        EXPECT_EQ(numbers.get_allocator().target(), nullptr) << "an assignment leaves it where it is";
        calls::vector<int> moved(300, 9);
        numbers = std::move(moved);
        EXPECT_EQ(numbers.get_allocator().target(), nullptr) << "so does a move";
    }
    EXPECT_EQ(numbers.size(), 300u);
    EXPECT_EQ(numbers[299], 9) << "elements were moved one by one";
    expect_objects_are_made_and_destroyed<calls>();
}

TEST(scope_arena, swap_exchanges_the_arenas) {
    calls::scope outer;
    calls::list<int> a{1};
    calls::scope inner;
    calls::list<int> b{2};
    swap(a, b);
    EXPECT_TRUE(a.get_allocator().target() == &inner.arena() && b.get_allocator().target() == &outer.arena());
    EXPECT_TRUE(a.front() == 2 && b.front() == 1);
    swap(a, b);
}

TEST(scope_arena, an_exception_ends_scopes_as_a_return_does) {
    const auto recurse = [](auto& self, int depth) -> void {
        calls::scope scope;
        const calls::string text(long_text);
        if (depth == 0) throw depth;
        self(self, depth - 1);
    };
    EXPECT_THROW(recurse(recurse, 5), int);
    EXPECT_EQ(calls::current(), nullptr);
}

TEST(scope_arena, objects_are_made_in_the_arena) {
    calls::scope scope;
    expect_objects_are_made_and_destroyed<calls>();
    EXPECT_EQ(std::pmr::vector<int>(100, 7, calls::resource())[99], 7);
    expect_empty(scope.arena());
}

TEST(scope_arena, bytes_go_back_to_the_arena_that_gave_them) {
    void* const of_heap = calls::allocate_bytes(10);
    calls::scope outer;
    void* const of_outer = calls::allocate_bytes(1);
    EXPECT_TRUE(is_aligned(static_cast<char*>(of_outer), 16));
    calls::scope inner;
    auto* const moved = static_cast<char*>(calls::resize_bytes(of_heap, 1000));
    moved[999] = 7;
    calls::free_bytes(of_outer);
    calls::free_bytes(calls::resize_bytes(moved, 5));
    calls::free_bytes(nullptr);
    expect_empty(outer.arena());
    expect_empty(inner.arena());
}

TEST(scope_arena, blocks_do_not_overlap_and_keep_their_contents) {
    const auto expect_contents_stay = [] {
        std::vector<char*> blocks;
        for (std::size_t bytes = 1; bytes <= 100; ++bytes) {
            blocks.push_back(static_cast<char*>(calls::allocate_bytes(bytes)));
            std::memset(blocks.back(), static_cast<int>(bytes), bytes);
        }
        for (std::size_t bytes = 1; bytes <= 100; ++bytes) {
            char*& block = blocks[bytes - 1];
            EXPECT_EQ(std::count(block, block + bytes, static_cast<char>(bytes)), static_cast<long>(bytes));
            block = static_cast<char*>(calls::resize_bytes(block, 200 - bytes));
            const std::size_t kept = std::min(bytes, 200 - bytes);
            EXPECT_EQ(std::count(block, block + kept, static_cast<char>(bytes)), static_cast<long>(kept));
        }
        for (char* block : blocks) calls::free_bytes(block);
    };
    expect_contents_stay();
    calls::scope scope;
    expect_contents_stay();
}

TEST(scope_arena, takes_the_first_chunk_that_it_names) {
    calls::scope scope;
    const calls::vector<int> numbers(1);
    EXPECT_GE(scope.arena().held_bytes(), 5000u);
}

TEST(scope_arena_threads, a_thread_without_scopes_frees_into_the_arena) {
    calls::scope scope;
    void* const block = calls::allocate_bytes(100);
    auto number = calls::make_unique<int>(7);
    in_a_thread([&] {
        calls::free_bytes(block);
        number.reset();
    });
    expect_empty(scope.arena());
}

TEST(scope_arena, refuses_what_memory_cannot_hold) {
    if (!test::malloc_refuses) GTEST_SKIP() << "the sanitizer ends the program";
    const auto expect_refusal = [] {
        for (const std::size_t less : {0, 5, 16, 64})
            EXPECT_THROW(static_cast<void>(calls::allocate_bytes(std::numeric_limits<std::size_t>::max() - less)),
                         std::bad_alloc);
        if (!test::half_of_the_addresses_may_be_had) {
            EXPECT_THROW(calls::vector<long>().reserve(calls::vector<long>().max_size()), std::exception);
        }
        void* const block = calls::allocate_bytes(5);
        EXPECT_THROW(static_cast<void>(calls::resize_bytes(block, std::numeric_limits<std::size_t>::max())),
                     std::bad_alloc);
        calls::free_bytes(block);
    };
    expect_refusal();
    calls::scope scope;
    expect_refusal();
}

TEST(scope_arena_threads, each_thread_has_scopes_of_its_own) {
    calls::scope scope;
    in_a_thread([&] {
        EXPECT_EQ(calls::current(), nullptr);
        calls::scope own;
        EXPECT_NE(calls::current(), &scope.arena());
        EXPECT_EQ(calls::string(long_text), long_text);
    });
    EXPECT_EQ(calls::current(), &scope.arena());
}

TEST(thread_arena_threads, each_thread_has_an_arena_and_a_resource_of_its_own) {
    const auto* const arena = &threads::pool();
    const auto* const resource = threads::resource();
    in_a_thread([&] {
        EXPECT_NE(&threads::pool(), arena);
        EXPECT_NE(threads::resource(), resource);
        std::pmr::vector<int> numbers(100, 7, threads::resource());
        threads::map<int, threads::string> names;
        for (int i = 0; i < 100; ++i) names.emplace(i, long_text);
        EXPECT_EQ(names.get_allocator().target(), &threads::pool());
        expect_objects_are_made_and_destroyed<threads>();
        threads::free_bytes(threads::resize_bytes(threads::allocate_bytes(5), 500));
    });
    EXPECT_EQ(threads::current(), arena);
}

}  // namespace
}  // namespace millpond
