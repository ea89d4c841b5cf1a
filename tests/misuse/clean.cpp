// SPDX-License-Identifier: BSL-1.0
// Programs without a misuse: no mode may report anything.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

template <class T>
using vector = std::vector<T, allocator<T, multi>>;
template <class T>
using list = std::list<T, allocator<T, multi>>;
using string = std::basic_string<char, std::char_traits<char>, allocator<char, multi>>;

const char* const long_text = "a text that is longer than the small buffer of any string";

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

// Programs in which checked mode has to refrain from a report.

// A resource that counts its live blocks and must have all of them back before it is destroyed.
class brief_resource : public std::pmr::memory_resource {
  public:
    ~brief_resource() override { expect(live_ == 0); }
    bool refuses = false;

  private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (refuses) throw std::bad_alloc();
        ++live_;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        --live_;
        std::memset(block, 0xEE, bytes);
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
    int live_ = 0;
};

template <class Pool>
void release_and_lose_the_upstream() {
    std::optional<brief_resource> upstream(std::in_place);
    Pool pool(&*upstream);
    for (std::size_t bytes = 1; bytes < 3'000'000; bytes *= 3) std::memset(pool.allocate(bytes, 8), 'x', bytes);
    pool.release();
    upstream.reset();
}

void upstream_gone_after_release() {
    release_and_lose_the_upstream<in_mode<multipool<upstream_resource>>>();
    release_and_lose_the_upstream<in_mode<monotonic<upstream_resource>>>();
    release_and_lose_the_upstream<in_mode<multipool<monotonic<upstream_resource>>>>();
    release_and_lose_the_upstream<in_mode<synchronized_multipool<upstream_resource>>>();
    release_and_lose_the_upstream<in_mode<compact_pool<40, upstream_resource>>>();
    release_and_lose_the_upstream<resource<in_mode<multipool<counted<upstream_resource>>>>>();
}

void upstream_gone_when_nothing_is_out() {
    std::optional<brief_resource> upstream(std::in_place);
    in_mode<upstream_resource> source(&*upstream);
    in_mode<multipool<upstream_resource>> pool(&*upstream), other(&*upstream);
    source.deallocate(source.allocate(100, 8), 100, 8);
    source.deallocate(source.allocate(0, 1), 0, 1);
    pool.deallocate(pool.allocate(5 << 20, 8), 5 << 20, 8);
    static_cast<void>(other.allocate(5 << 20, 8));
    other.reset();
    upstream.reset();
}

void upstream_gone_before_its_arrays_are_forgotten() {
    std::optional<brief_resource> upstream(std::in_place);
    {
        using handle = suballocator<std::pmr::polymorphic_allocator<int>>;
        const handle slots{std::pmr::polymorphic_allocator<int>(&*upstream)};
        std::deque<int, handle> queue(slots);
        std::vector<int, handle> numbers(slots);
        for (int i = 0; i < 1000; ++i) queue.push_back(i), numbers.push_back(i);
    }
    upstream.reset();
}

void pool_handed_from_thread_to_thread() {
    multi pool;
    std::mutex mutex;
    vector<string> texts(&pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 300; ++i) {
                const std::lock_guard lock(mutex);
                texts.emplace_back(long_text);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    expect(texts.size() == 1200);
    std::thread([moved = std::move(texts)]() mutable { moved.clear(); }).join();
}

void pool_for_each_thread() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            static thread_local multi pool;
            list<int> numbers(&pool);
            for (int i = 0; i < 1000; ++i) numbers.push_back(i);
            mono scratch;
            std::vector<int, allocator<int, mono>> copy(numbers.begin(), numbers.end(), &scratch);
            expect(copy.size() == 1000);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void messages_between_threads() {
    in_mode<synchronized_multipool<>> pool;
    std::mutex mutex;
    std::vector<void*> sent;
    std::thread sender([&] {
        for (int i = 0; i < 5000; ++i) {
            void* const message = pool.allocate(100, 8);
            const std::lock_guard lock(mutex);
            sent.push_back(message);
        }
    });
    std::size_t received = 0;
    while (received < 5000) {
        void* message = nullptr;
        {
            const std::lock_guard lock(mutex);
            if (!sent.empty()) message = sent.back(), sent.pop_back();
        }
        if (message == nullptr) {
            std::this_thread::yield();
        } else {
            pool.deallocate(message, 100, 8);
            ++received;
        }
    }
    sender.join();
    expect_empty(pool);
}

void callback_of_a_limit_frees() {
    static std::vector<void*> cache;
    limited<multi> pool(byte_limit{1000});
    pool.on_limit(
        [](void* context, std::size_t, std::size_t) {
            if (cache.empty()) return false;
            static_cast<limited<multi>*>(context)->deallocate(cache.back(), 100, 8);
            cache.pop_back();
            return true;
        },
        &pool);
    for (int i = 0; i < 100; ++i) cache.push_back(pool.allocate(100, 8));
    while (!cache.empty()) pool.deallocate(cache.back(), 100, 8), cache.pop_back();
    expect_empty(pool);
}

// A source that asks the pool above it for the pool's own bookkeeping.
struct self_serving_source {
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept;
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        new_delete().deallocate(block, bytes, alignment);
    }
};
in_mode<multipool<self_serving_source>>* above = nullptr;
bool serves_itself = false;
void* self_serving_source::try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (!serves_itself && above != nullptr && bytes > 3000) {
        serves_itself = true;
        void* const note = above->try_allocate(24, 8);
        if (note != nullptr) above->deallocate(note, 24, 8);
        serves_itself = false;
    }
    return new_delete().try_allocate(bytes, alignment);
}

void source_that_uses_the_pool_above_it() {
    in_mode<multipool<self_serving_source>> pool;
    above = &pool;
    void* blocks[100];
    for (void*& block : blocks) block = pool.allocate(500, 8);
    for (void* const block : blocks) pool.deallocate(block, 500, 8);
    above = nullptr;
}

void nodes_between_pools_that_are_one() {
    multi here;
    {
        multi there;
        list<string> a(&here), b(&there);
        for (int i = 0; i < 100; ++i) a.emplace_back(long_text), b.emplace_back(long_text);
        here.absorb(there);
        here.absorb(there);
        a.splice(a.end(), b);
        expect(a.size() == 200);
        b.emplace_back(long_text);
    }
    list<int> after({1, 2, 3}, &here);
}

void suballocators_in_every_container() {
    using handle = suballocator<std::allocator<int>>;
    std::list<int, handle> a({1, 2, 3}), b(a.get_allocator());
    b.splice(b.begin(), a);
    std::set<int, std::less<>, handle> set(b.get_allocator()), copy(set);
    for (int i = 0; i < 1000; ++i) set.insert(i), copy.insert(-i);
    swap(set, copy);
    std::map<int, std::string, std::less<>, suballocator32<std::allocator<std::pair<const int, std::string>>>> map;
    for (int i = 0; i < 500; ++i) map[i] = long_text;
    auto moved = std::move(map);
    std::vector<int, handle> numbers(set.begin(), set.end());
    numbers.insert(numbers.begin(), 50, 7);
    std::deque<int, handle> queue(numbers.begin(), numbers.end());
    while (queue.size() > 3) queue.pop_front();
}

void slots_that_come_and_go() {
    in_mode<compact_pool<48>> pool;
    std::vector<void*> live;
    for (std::size_t i = 0; i < 5000; ++i) {
        live.push_back(pool.allocate(i % 49, 8));
        std::memset(live.back(), 'x', i % 49);
    }
    for (std::size_t i = 0; i < 5000; i += 2) pool.deallocate(live[i], i % 49, 8);
    for (std::size_t i = 1; i < 5000; i += 2) pool.deallocate(live[i], i % 49, 8);
    expect_empty(pool);
}

struct shape {
    virtual ~shape() = default;
    virtual int corners() const = 0;
};
struct square : shape {
    int corners() const override { return 4; }
    string name;
    explicit square(multi& pool) : name(long_text, &pool) {}
};

void pointers_that_own() {
    multi pool;
    {
        std::vector<pool_unique_ptr<shape, multi>> shapes;
        for (int i = 0; i < 50; ++i) shapes.emplace_back(allocate_unique<square>(pool, pool));
        expect(shapes.back()->corners() == 4);
        const auto numbers = allocate_unique<int[]>(pool, 100);
        expect(numbers[99] == 0);
        auto shared = std::allocate_shared<long>(allocator<long, multi>(&pool), 7);
        const std::weak_ptr<long> weak = shared;
        shared.reset();
        expect(weak.expired());
    }
    expect_empty(pool);
}

void memory_of_the_program_below_pools() {
    alignas(64) static char memory[1 << 16];
    fixed_buffer source(memory, sizeof memory);
    for (int round = 0; round < 3; ++round) {
        in_mode<multipool<source_ref<fixed_buffer>>> pool(source);
        std::vector<void*> blocks;
        while (void* const block = pool.try_allocate(100, 8)) blocks.push_back(block);
        expect(blocks.size() > 100);
        for (void* const block : blocks) {
            expect(memory <= block && block < memory + sizeof memory);
            pool.deallocate(block, 100, 8);
        }
    }
    void* const first = source.allocate(100, 64);
    void* const second = source.allocate(0, 1);
    source.deallocate(first, 100, 64);
    source.deallocate(second, 0, 1);
    monotonic<> row(initial_buffer{memory, sizeof memory});
    static_cast<void>(row.allocate(100'000, 8));
}

void regions_that_grow() {
    region source(1 << 24);
    void* const block = source.allocate(1000, 16);
    const std::size_t bytes = source.try_resize(block, 1000, 100'000);
    std::memset(block, 'x', bytes);
    void* const behind = source.allocate(24, 8);
    expect(source.try_resize(block, bytes, 2 * bytes) == bytes);
    source.deallocate(behind, 24, 8);
    source.deallocate(block, bytes, 16);
    for (int i = 0; i < 10; ++i) {
        const allocation at_least = source.try_allocate_at_least(5000, 64);
        std::memset(at_least.start, 'x', at_least.bytes);
        if (i % 2 == 0) source.deallocate(at_least.start, at_least.bytes, 64);
        if (i % 3 == 0) source.reset();
    }
    source.release();
}

void places_to_return_to() {
    mono other, pool;  // the absorber outlives what it absorbs
    const auto start = pool.checkpoint();
    for (int round = 0; round < 5; ++round) {
        std::memset(pool.allocate(1000, 8), 'x', 1000);
        const auto middle = pool.checkpoint();
        for (int i = 0; i < 3; ++i) {
            std::memset(pool.allocate(3000, 8), 'y', 3000);
            pool.rewind(middle);
        }
        pool.rewind(middle);
        pool.rewind(start);
    }
    other.absorb(pool);
    const auto after = pool.checkpoint();
    static_cast<void>(pool.allocate(100, 8));
    pool.rewind(after);
}

void objects_winked_out_in_turn() {
    multi pool;
    for (int round = 0; round < 3; ++round) {
        wink_out<std::map<int, string, std::less<>, allocator<std::pair<const int, string>, multi>>, multi> texts(pool);
        for (int i = 0; i < 100; ++i) texts->emplace(i, long_text);
        if (round == 1) texts.drop();
        texts.drop();
    }
    expect_empty(pool);
}

void resources_below_resources() {
    resource<mono> below;
    std::pmr::unsynchronized_pool_resource theirs(&below);
    resource<in_mode<multipool<upstream_resource>>> ours(&theirs);
    std::pmr::map<std::pmr::string, std::pmr::vector<int>> index(&ours);
    for (int i = 0; i < 500; ++i) index[std::pmr::string(std::to_string(i % 50), &ours)].push_back(i);
    std::pmr::map<std::pmr::string, std::pmr::vector<int>> copy(index, &below);
    expect(copy == index);
}

void upstream_that_refuses_now_and_then() {
    brief_resource upstream;
    resource<in_mode<multipool<upstream_resource>>> pool(&upstream);
    std::pmr::vector<std::pmr::string> texts(&pool);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        upstream.refuses = i % 2 == 1;
        try {
            texts.emplace_back(200, 'x');
        } catch (const std::bad_alloc&) {
            ++refused;
        }
    }
    upstream.refuses = false;
    expect(refused > 0 && texts.back().size() == 200);
}

void elements_of_many_parts() {
    multi pool;
    using row = std::tuple<int, string, std::pair<string, vector<string>>>;
    vector<row> rows(&pool);
    for (int i = 0; i < 100; ++i) {
        rows.emplace_back();
        std::get<1>(rows.back()) = long_text;
        std::get<2>(rows.back()).second.emplace_back(long_text);
    }
    vector<row> copy(rows, &pool);
    rows.erase(rows.begin(), rows.begin() + 50);
    expect(copy.size() == 100);
}

void blocks_of_nothing_and_of_at_least() {
    multi pool;
    void* nothings[10];
    for (void*& nothing : nothings) nothing = pool.allocate(0, 1);
    for (void* const nothing : nothings) pool.deallocate(nothing, 0, 1);
    allocator<int, multi> ints(&pool);
    for (std::size_t n = 1; n < 100; n += 7) {
        const auto [first, count] = ints.allocate_at_least(n);
        std::uninitialized_fill_n(first, count, 7);
        ints.deallocate(first, count);
    }
    expect_empty(pool);
}

void arrays_used_to_their_limits() {
    dyn_array<int> numbers(100'000);
    for (int i = 0; i < 100'000; ++i) numbers.push_back(i);
    numbers.erase(numbers.begin() + 10, numbers.end() - 10);
    numbers.insert(numbers.begin() + 5, numbers.begin(), numbers.end());
    numbers.append_range(std::list<int>(1000, 7));
    dyn_array<int> other = std::move(numbers);
    numbers = other;
    numbers.swap(other);
    other.clear();
    other.shrink_to_fit();
    other.resize(50'000);
    erase_if(other, [](int n) { return n == 0; });
    expect(other.empty() && numbers.size() == 1040);
    numbers = dyn_array<int>();
    expect(numbers.empty());
}

void many_small_pools() {
    std::vector<std::unique_ptr<multi>> pools;
    for (int i = 0; i < 300; ++i) {
        pools.push_back(std::make_unique<multi>());
        vector<string>(5, string(long_text, pools.back().get()), pools.back().get()).clear();
        if (i % 3 == 0) pools.erase(pools.begin() + i / 3);
    }
}

void counted_and_limited_pools() {
    counted<limited<multi>> pool(byte_limit{100'000});
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate(100, 8));
    expect(pool.counts().live_bytes == 10'000 && pool.target().live_bytes() == 10'000);
    for (void* const block : blocks) pool.deallocate(block, 100, 8);
    pool.clear();
    pool.release();
    in_mode<counted<monotonic<>>> row;
    const auto place = row.checkpoint();
    static_cast<void>(row.allocate(1000, 8));
    row.rewind(place);
}

multi& shared_pool() {
    static multi pool;
    return pool;
}
void pools_that_end_with_the_program() {
    static vector<string> texts(&shared_pool());
    texts.emplace_back(long_text);
    static list<int> numbers({1, 2, 3}, &shared_pool());
    numbers.push_back(4);
}

void vector_trees_cut_and_joined() {
    vector_tree<int> numbers{1, 2, 3, 4};
    const auto third = numbers.nth(2);
    numbers.insert(numbers.begin(), 0);
    vector_tree<int> rest = numbers.split(third);
    rest.insert(third, 9);
    rest.append(std::move(numbers));
    expect(*third == 3 && rest.index_of(third) == 1);
    expect(*rest.erase(third) == 4 && third == vector_tree<int>::iterator() && rest.size() == 5);
}

void sets_with_ranks_of_each_kind() {
    counted_set<int> nodes{5, 1, 3};
    const auto kept = nodes.find(3);
    nodes.insert(kept, 2);
    nodes.erase(nodes.begin());
    expect(*kept == 3 && nodes.rank(kept) == 1);
    counted_set<int> others(std::move(nodes));
    others.erase(kept);  // it went with its node
    ordered_map<int, int> tree{{1, 2}, {3, 4}, {5, 6}};
    auto at = tree.erase(tree.begin());
    at = tree.insert(at, {4, 4});
    for (; at != tree.end(); at = tree.erase(at)) expect(at->first > 3);
    expect(tree.size() == 1 && others.size() == 2);
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
    {"upstream_gone_after_release", upstream_gone_after_release, nullptr, nullptr, nullptr},
    {"upstream_gone_when_nothing_is_out", upstream_gone_when_nothing_is_out, nullptr, nullptr, nullptr},
    {"upstream_gone_before_its_arrays_are_forgotten", upstream_gone_before_its_arrays_are_forgotten, nullptr, nullptr,
     nullptr},
    {"pool_handed_from_thread_to_thread", pool_handed_from_thread_to_thread, nullptr, nullptr, nullptr},
    {"pool_for_each_thread", pool_for_each_thread, nullptr, nullptr, nullptr},
    {"messages_between_threads", messages_between_threads, nullptr, nullptr, nullptr},
    {"callback_of_a_limit_frees", callback_of_a_limit_frees, nullptr, nullptr, nullptr},
    {"source_that_uses_the_pool_above_it", source_that_uses_the_pool_above_it, nullptr, nullptr, nullptr},
    {"nodes_between_pools_that_are_one", nodes_between_pools_that_are_one, nullptr, nullptr, nullptr},
    {"suballocators_in_every_container", suballocators_in_every_container, nullptr, nullptr, nullptr},
    {"slots_that_come_and_go", slots_that_come_and_go, nullptr, nullptr, nullptr},
    {"pointers_that_own", pointers_that_own, nullptr, nullptr, nullptr},
    {"memory_of_the_program_below_pools", memory_of_the_program_below_pools, nullptr, nullptr, nullptr},
    {"regions_that_grow", regions_that_grow, nullptr, nullptr, nullptr},
    {"places_to_return_to", places_to_return_to, nullptr, nullptr, nullptr},
    {"objects_winked_out_in_turn", objects_winked_out_in_turn, nullptr, nullptr, nullptr},
    {"resources_below_resources", resources_below_resources, nullptr, nullptr, nullptr},
    {"upstream_that_refuses_now_and_then", upstream_that_refuses_now_and_then, nullptr, nullptr, nullptr},
    {"elements_of_many_parts", elements_of_many_parts, nullptr, nullptr, nullptr},
    {"vector_trees_cut_and_joined", vector_trees_cut_and_joined, nullptr, nullptr, nullptr},
    {"sets_with_ranks_of_each_kind", sets_with_ranks_of_each_kind, nullptr, nullptr, nullptr},
    {"blocks_of_nothing_and_of_at_least", blocks_of_nothing_and_of_at_least, nullptr, nullptr, nullptr},
    {"arrays_used_to_their_limits", arrays_used_to_their_limits, nullptr, nullptr, nullptr},
    {"many_small_pools", many_small_pools, nullptr, nullptr, nullptr},
    {"counted_and_limited_pools", counted_and_limited_pools, nullptr, nullptr, nullptr},
    {"pools_that_end_with_the_program", pools_that_end_with_the_program, nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const program> clean_programs() { return table; }

}  // namespace millpond::test
