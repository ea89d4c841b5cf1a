// SPDX-License-Identifier: BSL-1.0
// any_compiler: random operations on every kind of allocator, checked without a test library. It builds with any
// compiler and any standard library, with or without exceptions and run-time types (scripts/compilers).
//
//   any_compiler [seed]        status 0: every block was aligned, apart from the others, and kept its contents
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__cpp_exceptions) && defined(__cpp_rtti)
#include <millpond/millpond.hpp>

#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>
#else
#include <millpond/block.hpp>
#include <millpond/core.hpp>
#include <millpond/local.hpp>
#endif

namespace {

std::uint64_t state = 1;

std::size_t number_below(std::size_t end) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::size_t>(state % end);
}

[[noreturn]] void fail(const char* what, const char* where) {
    std::printf("%s: %s\n", where, what);
    std::exit(1);
}

struct block {
    unsigned char* start = nullptr;
    std::size_t bytes = 0, alignment = 0;
    unsigned char pattern = 0;
};

void check(const block& one, const char* where) {
    for (std::size_t i = 0; i < one.bytes; ++i) {
        if (one.start[i] != one.pattern) fail("a block has lost its contents", where);
    }
}

template <class Pool>
void live(Pool& pool, const char* where) {
    block blocks[64];
    for (unsigned step = 0; step < 20000; ++step) {
        block& one = blocks[number_below(64)];
        if (one.start != nullptr) {
            check(one, where);
            pool.deallocate(one.start, one.bytes, one.alignment);
            one = {};
            continue;
        }
        const std::size_t bytes = number_below(step % 500 == 0 ? 2000000 : 600);
        const std::size_t alignment = std::size_t{1} << number_below(step % 100 == 0 ? 13 : 5);
        one = {static_cast<unsigned char*>(pool.try_allocate(bytes, alignment)), bytes, alignment,
               static_cast<unsigned char>(step)};
        if (one.start == nullptr) fail("there is memory, but not here", where);
        if (!millpond::detail::is_aligned(one.start, alignment)) fail("a block is not aligned", where);
        std::memset(one.start, one.pattern, bytes);
    }
    for (block& one : blocks) {
        if (one.start == nullptr) continue;
        check(one, where);
        pool.deallocate(one.start, one.bytes, one.alignment);
    }
    if (pool.try_allocate(static_cast<std::size_t>(-1), 8) != nullptr) fail("an impossible size was served", where);
}

template <class Pool, class... Arguments>
void live_in(const char* where, Arguments&&... arguments) {
    Pool pool(arguments...);
    live(pool, where);
    pool.reset();
    live(pool, where);
    pool.release();
    if (pool.held_bytes() != 0) fail("something was not released", where);
    live(pool, where);
}

template <class Pool>
void become_one(const char* where) {
    Pool a, b;
    void* const block = b.allocate(100, 8);
    a.absorb(b);
    a.deallocate(block, 100, 8);
    if (!(a == b)) fail("they are not one", where);
    live(b, where);
    live(a, where);
}

void live_in_all() {
    using namespace millpond;
    live_in<monotonic<>>("monotonic");
    live_in<multipool<>>("multipool");
    live_in<multipool<new_delete, powers_of_two<>>>("multipool of powers of two");
    live_in<multipool<chunk_cache, exact_spacing<>>>("multipool of exact sizes");
    live_in<multipool<chunk_cache, class_map<24, 40, 1000>>>("multipool of given sizes");
    live_in<synchronized_multipool<>>("synchronized_multipool");
    live_in<synchronized_multipool<new_delete, class_map<24, 40, 1000>>>("synchronized_multipool of given sizes");
    live_in<multipool<std_source<std::allocator<int>>>>("multipool over a standard allocator");
    live_in<multipool<upstream_resource>>("multipool over a resource");
    live_in<compact_pool<24>>("compact_pool");
    live_in<compact_pool<24, std_source<std::allocator<int>>>>("compact_pool over a standard allocator");
    live_in<multipool<region>>("multipool in a region", std::size_t{1} << 30);
    live_in<arena>("arena", std::size_t{1} << 34);
    new_delete behind;
    live_in<multipool<source_ref<new_delete>>>("multipool over a reference", behind);
    multipool<monotonic<>> above;
    live(above, "multipool over a monotonic");
    above.release();
    become_one<monotonic<>>("absorbed monotonic");
    become_one<multipool<>>("absorbed multipool");

    monotonic<> row;
    for (int round = 0; round < 100; ++round) {
        const rewind_scope scope(row);
        static_cast<void>(row.allocate(number_below(5000), 8));
    }
    alignas(64) static char memory[4096];
    fixed_buffer buffer(memory, sizeof memory);
    multipool<source_ref<fixed_buffer>> small(buffer);
    if (small.try_allocate(24, 8) == nullptr || small.try_allocate(5000, 8) != nullptr) fail("not 4 KiB", "buffer");
    chunk_cache::trim();
}

#if defined(__cpp_exceptions) && defined(__cpp_rtti)
void live_in_wrappers() {
    using namespace millpond;
    in_mode<multipool<>> pool;
    live(pool, "multipool as the mode has it");
    checked<multipool<>> careful;
    live(careful, "checked");
    careful.verify();
    counted<multipool<>> accountant;
    live(accountant, "counted");
    if (accountant.counts().live_bytes != 0) fail("miscounted", "counted");
    limited<multipool<>> narrow(byte_limit{1000});
    void* const most = narrow.allocate(600, 8);
    if (narrow.try_allocate(600, 8) != nullptr) fail("no limit", "limited");
    narrow.deallocate(most, 600, 8);
    synchronized<multipool<>> shared;
    live(shared, "synchronized");
}

void live_in_slots_and_arrays() {
    using namespace millpond;
    using text = std::basic_string<char, std::char_traits<char>, suballocator<std::allocator<char>>>;
    std::map<int, text, std::less<>, suballocator<std::allocator<std::pair<const int, text>>>> texts;
    std::list<int, suballocator64<std::allocator<int>>> numbers;
    dyn_array<std::string> lines(std::size_t{1} << 20);
    for (int i = 0; i < 10000; ++i) {
        const int key = static_cast<int>(number_below(1000));
        texts[key].append("twenty characters or so");
        if (number_below(2) != 0) texts.erase(static_cast<int>(number_below(1000)));
        numbers.push_back(key);
        if (number_below(3) == 0) numbers.pop_front();
        lines.push_back(i == 0 ? "the first" : lines[number_below(lines.size())]);
        if (number_below(5) == 0) lines.erase(lines.begin());
        if (lines.empty()) lines.push_back("the first");
    }
    for (const std::string& line : lines) {
        if (line != "the first") fail("an element is another", "dyn_array");
    }
}

template <class Names>
std::size_t fill(Names& names) {
    for (int i = 0; i < 1000; ++i) names.emplace_back("a name that is too long for the small buffer of any string");
    std::size_t letters = 0;
    for (const auto& name : names) letters += name.size();
    return letters;
}

void live_in_containers() {
    using namespace millpond;
    using pool_type = multipool<>;
    pool_type pool;
    using string = std::basic_string<char, std::char_traits<char>, allocator<char, pool_type>>;
    std::vector<string, allocator<string, pool_type>> by_type(&pool);
    resource<pool_type&> base(pool);
    std::pmr::list<std::pmr::string> by_base(&base);
    if (fill(by_type) != fill(by_base)) fail("letters are missing", "containers");
    std::pmr::map<int, std::pmr::string> words(&base);
    for (int i = 0; i < 1000; ++i) words[i * 7919 % 500] = "word";
    if (words.size() != 500) fail("words are missing", "containers");
    const auto squares = allocate_unique<int[]>(pool, 100);
    if (squares[99] != 0) fail("not initialised", "allocate_unique");
    resource<monotonic<>> lake;
    wink_out<std::pmr::list<int>, resource<monotonic<>>> numbers(lake);
    for (int i = 0; i < 1000; ++i) numbers->push_back(i);
}
#endif

}  // namespace

int main(int argc, char** argv) {
    state = argc > 1 ? std::strtoull(argv[1], nullptr, 10) * 2 + 1 : 0x9E3779B97F4A7C15u;
    live_in_all();
#if defined(__cpp_exceptions) && defined(__cpp_rtti)
    live_in_wrappers();
    live_in_slots_and_arrays();
    live_in_containers();
#endif
    return 0;
}
