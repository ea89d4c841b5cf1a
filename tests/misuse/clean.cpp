// SPDX-License-Identifier: BSL-1.0
// Programs without a misuse: nothing may be said of them in any mode.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class T>
using vector = std::vector<T, allocator<T, multi>>;
using string = std::basic_string<char, std::char_traits<char>, allocator<char, multi>>;

void expect(bool holds) {
    if (!holds) std::exit(1);
}

void blocks_of_many_sizes() {
    multi pool;
    for (std::size_t round = 0; round < 3; ++round) {
        void* blocks[200];
        for (std::size_t i = 0; i < 200; ++i) {
            blocks[i] = pool.allocate(i * i, std::size_t{1} << i % 9);
            expect(detail::is_aligned(blocks[i], std::size_t{1} << i % 9));
            std::memset(blocks[i], 'a', i * i);
        }
        for (std::size_t i = 0; i < 200; ++i) pool.deallocate(blocks[i], i * i, std::size_t{1} << i % 9);
        expect_empty(pool);
    }
}

void containers_by_type_grow_and_shrink() {
    multi pool;
    {
        std::map<int, vector<string>, std::less<>, allocator<std::pair<const int, vector<string>>, multi>> index(&pool);
        for (int i = 0; i < 2000; ++i) index[i % 37].emplace_back(static_cast<std::size_t>(i % 100), 'x');
        for (int i = 0; i < 37; i += 2) index.erase(i);
        std::deque<string, allocator<string, multi>> queue(&pool);
        for (int i = 0; i < 2000; ++i) {
            queue.emplace_back(50u, 'y');
            if (i % 3 != 0) queue.pop_front();
        }
        auto copy = index;
        index = std::move(copy);
    }
    expect_empty(pool);
}

void containers_by_base_grow_and_shrink() {
    resource<multi> pool;
    {
        std::pmr::unordered_map<std::pmr::string, std::pmr::list<int>> lists(&pool);
        for (int i = 0; i < 2000; ++i)
            lists[std::pmr::string(static_cast<std::size_t>(i % 50), 'k', &pool)].push_back(i);
        while (!lists.empty()) lists.erase(lists.begin());
        std::pmr::vector<std::pmr::string> texts(&pool);
        for (int i = 0; i < 500; ++i) texts.emplace_back(100u, 'z');
        std::pmr::vector<std::pmr::string> moved(std::move(texts));
        moved.resize(10);
    }
    expect_empty(pool);
}

void scopes_within_scopes() {
    mono pool;
    std::vector<int, allocator<int, mono>> kept({1, 2, 3}, &pool);
    for (int i = 0; i < 100; ++i) {
        const rewind_scope outer(pool);
        std::vector<int, allocator<int, mono>> numbers(100, i, &pool);
        for (int j = 0; j < 10; ++j) {
            const rewind_scope inner(pool);
            std::vector<int, allocator<int, mono>> more(1000, j, &pool);
            expect(more.back() == j);
        }
        expect(numbers.back() == i && kept.back() == 3);
    }
}

void reset_and_release_drop_what_is_live() {
    mono row;
    multi pool;
    for (int i = 0; i < 20; ++i) {
        for (std::size_t n = 1; n < 300; ++n) {
            std::memset(row.allocate(n, 8), 'a', n);
            std::memset(pool.allocate(n, 8), 'b', n);
        }
        row.reset();
        i % 2 == 0 ? pool.reset() : pool.release();
    }
    row.release();
}

void objects_winked_out() {
    resource<mono> pool;
    for (int round = 0; round < 3; ++round) {
        wink_out<std::pmr::map<int, std::pmr::string>, resource<mono>> texts(pool);
        for (int i = 0; i < 300; ++i) texts->emplace(i, std::pmr::string(100u, 'x', &pool));
        expect(texts->size() == 300);
    }
    multi by_type;
    wink_out<vector<string>, multi> strings(by_type);
    for (int i = 0; i < 300; ++i) strings->emplace_back(100u, 'x');
}

void a_pool_shared_by_threads() {
    synchronized<multi> pool;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            std::vector<int, allocator<int, synchronized<multi>>> numbers(&pool);
            for (int i = 0; i < 3000; ++i) numbers.push_back(i);
            std::list<int, allocator<int, synchronized<multi>>> list(numbers.begin(), numbers.end(), &pool);
        });
    }
    for (std::thread& thread : threads) thread.join();
    expect_empty(pool);
}

void pools_upon_pools() {
    in_mode<multipool<monotonic<>>> pool;
    std::vector<void*> blocks;
    for (std::size_t n = 0; n < 2000; ++n) blocks.push_back(pool.allocate(n % 500, 8));
    for (std::size_t n = 0; n < 2000; ++n) pool.deallocate(blocks[n], n % 500, 8);
    pool.release();
    limited<counted<multi>> narrow(byte_limit{1000});
    void* const block = narrow.allocate(900, 8);
    expect(narrow.try_allocate(200, 8) == nullptr);
    narrow.deallocate(block, 900, 8);
    expect_empty(narrow);
}

void requests_that_cannot_be_met() {
    multi pool;
    void* const before = pool.allocate(100, 8);
    expect(pool.try_allocate(static_cast<std::size_t>(-1), 8) == nullptr);
    expect(pool.try_allocate(static_cast<std::size_t>(-1) / 2, 8) == nullptr);
    pool.deallocate(before, 100, 8);
    expect_empty(pool);
}

void arrays_that_grow_and_shrink() {
    dyn_array<std::string> texts(100'000);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20'000; ++i)
            texts.emplace_back(std::to_string(i) + " and so on, longer than a small buffer");
        texts.insert(texts.begin() + 7, 5, texts.back());
        texts.erase(texts.begin() + 100, texts.end() - 100);
        const dyn_array<std::string> copy = texts;
        expect(copy == texts && copy.size() == 200);
        texts.clear();
        texts.shrink_to_fit();
    }
    dyn_array<char> letters(100'000);
    for (int i = 0; i < 100'000; ++i) letters.push_back('x');
    expect(letters.try_push_back('x') == nullptr && letters[99'999] == 'x');
    const dyn_array<char> taken = std::move(letters);
    expect(taken.size() == 100'000);
}

void arenas_that_grow_and_give_back() {
    for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{1} << 26}) {
        in_mode<arena> pool(limit);
        for (int round = 0; round < 20; ++round) {
            const std::size_t largest = round == 3 ? limit / 4 : 5000;
            for (std::size_t bytes = 1; bytes < largest; bytes += bytes / 2 + 1) {
                char* const block = static_cast<char*>(pool.allocate(bytes, 16));
                for (std::size_t i = 0; i < bytes; ++i) block[i] = 'x';
            }
            expect(pool.try_allocate(limit, 8) == nullptr);
            round % 2 == 0 ? pool.reset() : pool.rewind(pool.checkpoint());
        }
        pool.release();
    }
    resource<in_mode<multipool<region>>> base(1 << 22);
    std::pmr::list<std::pmr::string> lines(&base);
    for (int i = 0; i < 1000; ++i) lines.emplace_back(100, 'x');
}

// Leak checkers must look for pointers in an arena as they do in memory of malloc.
void an_arena_that_is_never_destroyed() {
    static auto* const pool = new in_mode<arena>;
    auto** const place = static_cast<std::string**>(pool->allocate(sizeof(std::string*), alignof(std::string*)));
    *place = new std::string("only a pointer in the arena leads here");
}

constexpr program table[] = {
    {"blocks_of_many_sizes", blocks_of_many_sizes, nullptr, nullptr, nullptr},
    {"containers_by_type_grow_and_shrink", containers_by_type_grow_and_shrink, nullptr, nullptr, nullptr},
    {"containers_by_base_grow_and_shrink", containers_by_base_grow_and_shrink, nullptr, nullptr, nullptr},
    {"an_arena_that_is_never_destroyed", an_arena_that_is_never_destroyed, nullptr, nullptr, nullptr},
    {"arenas_that_grow_and_give_back", arenas_that_grow_and_give_back, nullptr, nullptr, nullptr},
    {"scopes_within_scopes", scopes_within_scopes, nullptr, nullptr, nullptr},
    {"reset_and_release_drop_what_is_live", reset_and_release_drop_what_is_live, nullptr, nullptr, nullptr},
    {"objects_winked_out", objects_winked_out, nullptr, nullptr, nullptr},
    {"a_pool_shared_by_threads", a_pool_shared_by_threads, nullptr, nullptr, nullptr},
    {"pools_upon_pools", pools_upon_pools, nullptr, nullptr, nullptr},
    {"requests_that_cannot_be_met", requests_that_cannot_be_met, nullptr, nullptr, nullptr},
    {"arrays_that_grow_and_shrink", arrays_that_grow_and_shrink, nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const program> clean_programs() { return table; }

}  // namespace millpond::test
