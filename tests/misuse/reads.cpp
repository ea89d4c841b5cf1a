// SPDX-License-Identifier: BSL-1.0
// Misuses that only read, or that write where no guard is. Checked mode sees them by giving lone blocks their own
// pages.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

using in_arena = in_mode<arena>;
using shared = in_mode<synchronized_multipool<>>;
using slots_of_32 = in_mode<compact_pool<32>>;

template <class Pool>
char* block_of(Pool& pool, std::size_t bytes, std::size_t alignment = 8) {
    char* const block = hidden(static_cast<char*>(pool.allocate(bytes, alignment)));
    for (std::size_t i = 0; i < bytes; ++i) poke(block, static_cast<std::ptrdiff_t>(i));
    return block;
}

void peek(const void* memory, std::ptrdiff_t at) {
    static_cast<void>(static_cast<const volatile char*>(hidden(const_cast<void*>(memory)))[at]);
}

template <class Pool, std::size_t Bytes, std::size_t Alignment = 8>
void read_after_free() {
    Pool pool;
    block_of(pool, Bytes, Alignment);
    char* const block = block_of(pool, Bytes, Alignment);
    pool.deallocate(block, Bytes, Alignment);
    peek(block, Bytes / 2);
}

template <class Pool, std::size_t Bytes>
void read_after_reset() {
    Pool pool;
    char* const block = block_of(pool, Bytes);
    pool.reset();
    peek(block, 0);
}

template <class Pool, std::size_t Bytes>
void read_after_release() {
    Pool pool;
    char* const block = block_of(pool, Bytes);
    pool.release();
    peek(block, Bytes - 1);
}

template <class Pool>
void read_after_rewind() {
    Pool pool;
    block_of(pool, 24);
    const auto place = pool.checkpoint();
    char* const block = block_of(pool, 100);
    pool.rewind(place);
    peek(block, 50);
}

template <class Pool, std::size_t Bytes>
void read_after_destruction() {
    std::optional<Pool> pool(std::in_place);
    char* const block = block_of(*pool, Bytes);
    pool.reset();
    peek(block, 0);
}

template <class Pool>
void write_after_destruction() {
    std::optional<Pool> pool(std::in_place);
    char* const block = block_of(*pool, 48);
    pool.reset();
    poke(block, 47);
}

template <class Pool, std::size_t Bytes, std::ptrdiff_t Behind>
void read_behind_the_end() {
    Pool pool;
    peek(block_of(pool, Bytes), static_cast<std::ptrdiff_t>(Bytes) + Behind);
}

template <class Pool, std::ptrdiff_t Behind>
void write_far_behind_the_end() {
    Pool pool;
    poke(block_of(pool, 24), 24 + Behind);
}

template <class Container, class Pool = multi, class... Element>
void container_outlives_its_pool(Element... element) {
    auto pool = std::make_unique<Pool>();
    Container elements(pool.get());
    elements.emplace_back(element...);
    elements.emplace_back(element...);
    pool.reset();
    elements.clear();
}

void list_read_after_its_pool() {
    auto pool = std::make_unique<multi>();
    std::list<int, allocator<int, multi>> numbers({1, 2, 3}, pool.get());
    const int& last = *hidden(&numbers.back());
    pool.reset();
    peek(&last, 0);
}

void map_searched_after_its_pool() {
    auto pool = std::make_unique<multi>();
    std::map<int, int, std::less<>, allocator<std::pair<const int, int>, multi>> numbers(pool.get());
    for (int i = 0; i < 10; ++i) numbers[i] = i;
    pool.reset();
    static_cast<void>(numbers.find(3));
}

void pmr_map_searched_after_release() {
    resource<multi> pool;
    std::pmr::unordered_map<int, int> numbers(&pool);
    for (int i = 0; i < 10; ++i) numbers[i] = i;
    pool.release();
    static_cast<void>(numbers.find(3));
}

void pmr_text_read_after_its_pool() {
    auto pool = std::make_unique<resource<mono>>();
    auto* const text = new std::pmr::string("a text that is longer than any small buffer", pool.get());
    pool.reset();
    peek(text->data(), 5);
}

void element_read_after_the_vector_grew() {
    multi pool;
    std::vector<int, allocator<int, multi>> numbers({1, 2, 3}, &pool);
    const int* const first = hidden(numbers.data());
    numbers.resize(100);
    peek(first, 0);
}

void element_read_behind_the_capacity() {
    resource<multi> pool;
    std::pmr::vector<long> numbers(8, &pool);
    peek(numbers.data() + numbers.capacity(), 0);
}

void node_read_after_its_erasure() {
    multi pool;
    std::list<long, allocator<long, multi>> numbers({1, 2, 3}, &pool);
    const long* const second = hidden(&*std::next(numbers.begin()));
    numbers.erase(std::next(numbers.begin()));
    peek(second, 0);
}

void pooled_node_read_after_its_erasure() {
    pooled_list<long> numbers{1, 2, 3};
    const long* const second = hidden(&*std::next(numbers.begin()));
    numbers.erase(std::next(numbers.begin()));
    peek(second, 0);
}

void pooled_value_read_after_clear() {
    pooled_map<int, long> numbers;
    for (int i = 0; i < 20; ++i) numbers[i] = i;
    const long* const value = hidden(&numbers[7]);
    numbers.clear();
    peek(value, 0);
}

void pooled_value_read_after_its_map() {
    auto numbers = std::make_unique<pooled_map<int, long>>();
    for (int i = 0; i < 20; ++i) (*numbers)[i] = i;
    const long* const value = hidden(&(*numbers)[7]);
    numbers.reset();
    peek(value, 0);
}

template <class Pool, std::size_t Bytes>
void block_given_to_free() {
    Pool pool;
    std::free(hidden(block_of(pool, Bytes, 16)));
}

void block_given_to_realloc() {
    multi pool;
    static_cast<void>(hidden(std::realloc(hidden(block_of(pool, 100, 16)), 200)));
}

void vectors_memory_given_to_free() {
    resource<multi> pool;
    std::pmr::vector<long> numbers(100, &pool);
    std::free(hidden(numbers.data()));
}

// Uses up the pages for lone blocks, so that the following blocks have none of their own.
void use_up_lone_blocks() {
    static multi pool;
    for (int i = 0; i < 1100; ++i) static_cast<void>(hidden(pool.allocate(24, 8)));
}

template <class Pool, std::size_t Bytes, std::size_t Alignment, std::ptrdiff_t Behind>
void padding_written() {
    use_up_lone_blocks();
    Pool pool;
    void* blocks[5];
    for (void*& block : blocks) block = block_of(pool, Bytes, Alignment);
    poke(blocks[2], static_cast<std::ptrdiff_t>(Bytes) + Behind);
    for (void* block : blocks) pool.deallocate(block, Bytes, Alignment);
}

void pointer_followed_that_was_freed() {
    use_up_lone_blocks();
    multi pool;
    auto** const block = reinterpret_cast<char**>(block_of(pool, 48));
    pool.deallocate(block, 48, 8);
    peek(block[2], 0);
}

void pointer_followed_that_was_never_written() {
    multi pool;
    auto** const block = hidden(static_cast<char**>(pool.allocate(48, 8)));
    peek(block[2], 0);
}

void pointer_followed_that_lies_behind_a_block() {
    use_up_lone_blocks();
    multi pool;
    auto** const block = reinterpret_cast<char**>(block_of(pool, 48));
    peek(block[7], 0);
}

void late_block_given_to_free() {
    use_up_lone_blocks();
    block_given_to_free<mono, 200>();
}

template <std::size_t Elements, std::ptrdiff_t At>
void array_read_at() {
    dyn_array<int> numbers(Elements);
    numbers.push_back(1);
    peek(numbers.data() + At, 0);
}

void array_written_behind_its_limit() {
    dyn_array<int> numbers(std::size_t{1} << 20);
    numbers.push_back(1);
    poke(numbers.data() + numbers.max_size(), 0);
}

void array_read_after_it_shrank() {
    dyn_array<int> numbers(1000000);
    numbers.resize(900000);
    const int* const last = hidden(&numbers.back());
    numbers.clear();
    numbers.shrink_to_fit();
    peek(last, 0);
}

void array_read_after_its_destruction() {
    auto numbers = std::make_unique<dyn_array<int>>(1000);
    numbers->push_back(1);
    const int* const first = hidden(numbers->data());
    numbers.reset();
    peek(first, 0);
}

void bare_arena_written_behind_what_is_committed() {
    arena pool(std::size_t{1} << 24);
    poke(hidden(static_cast<char*>(pool.allocate(100, 8))), 1 << 23);
}

void bare_arena_written_behind_its_limit() {
    arena pool(std::size_t{1} << 20);
    poke(hidden(static_cast<char*>(pool.allocate(100, 8))), 1 << 20);
}

void bare_arena_read_after_release() {
    arena pool;
    char* const block = hidden(static_cast<char*>(pool.allocate(100, 8)));
    pool.release();
    peek(block, 0);
}

void bare_arena_read_after_its_destruction() {
    auto pool = std::make_unique<arena>();
    char* const block = hidden(static_cast<char*>(pool->allocate(100, 8)));
    pool.reset();
    peek(block, 0);
}

void block_read_by_a_thread_after_its_release_by_another() {
    shared pool;
    char* const block = block_of(pool, 64);
    std::thread([&] { pool.release(); }).join();
    std::thread([&] { peek(block, 3); }).join();
}

void block_read_by_a_child_after_its_free() {
    multi pool;
    char* const block = block_of(pool, 64);
    pool.deallocate(block, 64, 8);
    const pid_t child = fork();
    if (child == 0) {
        peek(block, 0);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::exit(1);
}

void block_of_the_pool_that_was_here_before() {
    std::optional<multi> pool(std::in_place);
    char* const block = block_of(*pool, 24);
    pool.emplace();
    pool->deallocate(block, 24, 8);
}

template <class Element>
using list = std::list<Element, allocator<Element, multi>>;
using text = std::basic_string<char, std::char_traits<char>, allocator<char, multi>>;

constexpr const char* freed = "use after free";
constexpr const char* was_reset = "use after reset";
constexpr const char* was_released = "use after release";
constexpr const char* destroyed = "destroyed allocator";
constexpr const char* over = "overrun";
constexpr const char* given_to_free = "operator delete";
constexpr const char* any = "AddressSanitizer: ";

constexpr program table[] = {
    {"read_after_free", read_after_free<multi, 24>, freed, any, nullptr},
    {"read_after_free_of_one_byte", read_after_free<multi, 1>, freed, any, nullptr},
    {"read_after_free_of_5000_bytes", read_after_free<multi, 5000>, freed, any, nullptr},
    {"read_after_free_of_100000_bytes", read_after_free<multi, 100000>, freed, any, nullptr},
    {"read_after_free_of_two_mib", read_after_free<multi, std::size_t{2} << 20>, freed, any, nullptr},
    {"read_after_free_of_an_aligned_block", read_after_free<multi, 64, 4096>, freed, any, nullptr},
    {"read_after_free_in_a_monotonic", read_after_free<mono, 40>, freed, any, nullptr},
    {"read_after_free_in_an_arena", read_after_free<in_arena, 40>, freed, any, nullptr},
    {"read_after_free_in_a_synchronized_multipool", read_after_free<shared, 40>, freed, any, nullptr},
    {"read_after_free_of_a_slot", read_after_free<slots_of_32, 32>, freed, any, nullptr},
    {"read_after_reset", read_after_reset<multi, 24>, was_reset, any, nullptr},
    {"read_after_reset_of_a_large_block", read_after_reset<multi, 70000>, was_reset, any, nullptr},
    {"read_after_reset_of_a_monotonic", read_after_reset<mono, 300>, was_reset, any, nullptr},
    {"read_after_reset_of_an_arena", read_after_reset<in_arena, 300>, was_reset, any, nullptr},
    {"read_after_reset_of_a_synchronized_multipool", read_after_reset<shared, 300>, was_reset, any, nullptr},
    {"read_after_release", read_after_release<multi, 24>, was_released, any, nullptr},
    {"read_after_release_of_a_large_block", read_after_release<multi, 70000>, was_released, any, nullptr},
    {"read_after_release_of_a_monotonic", read_after_release<mono, 300>, was_released, any, nullptr},
    {"read_after_release_of_an_arena", read_after_release<in_arena, 300>, was_released, any, nullptr},
    {"read_after_release_of_a_synchronized_multipool", read_after_release<shared, 300>, was_released, any, nullptr},
    {"read_after_rewind", read_after_rewind<mono>, "use after rewind", any, nullptr},
    {"read_after_rewind_of_an_arena", read_after_rewind<in_arena>, "use after rewind", any, nullptr},
    {"read_after_destruction", read_after_destruction<multi, 24>, destroyed, any, nullptr},
    {"read_after_destruction_of_a_large_block", read_after_destruction<multi, 90000>, destroyed, any, nullptr},
    {"read_after_destruction_of_a_monotonic", read_after_destruction<mono, 24>, destroyed, any, nullptr},
    {"read_after_destruction_of_an_arena", read_after_destruction<in_arena, 24>, destroyed, any, nullptr},
    {"read_after_destruction_of_slots", read_after_destruction<slots_of_32, 32>, destroyed, any, nullptr},
    {"write_after_destruction", write_after_destruction<multi>, destroyed, any, nullptr},
    {"write_after_destruction_of_a_synchronized_multipool", write_after_destruction<shared>, destroyed, any, nullptr},
    {"read_behind_the_end", read_behind_the_end<multi, 24, 0>, over, nullptr, nullptr},
    {"read_behind_the_end_of_a_large_block", read_behind_the_end<multi, 100000, 0>, over, any, nullptr},
    {"read_behind_the_end_of_a_monotonics_block", read_behind_the_end<mono, 40, 8>, over, any, nullptr},
    {"read_behind_the_end_by_a_page", read_behind_the_end<multi, 64, 4000>, over, nullptr, nullptr},
    {"write_behind_the_guard", write_far_behind_the_end<multi, 200>, over, nullptr, nullptr},
    {"write_behind_the_guard_by_pages", write_far_behind_the_end<mono, 9000>, over, nullptr, nullptr},
    {"write_behind_the_guard_by_a_mib", write_far_behind_the_end<shared, 1 << 20>, over, nullptr, nullptr},
    {"list_outlives_its_pool", [] { container_outlives_its_pool<list<int>>(1); }, destroyed, nullptr, nullptr},
    {"list_of_texts_outlives_its_pool", [] { container_outlives_its_pool<list<std::string>>("a"); }, destroyed, nullptr,
     nullptr},
    {"pmr_list_outlives_its_pool", [] { container_outlives_its_pool<std::pmr::list<long>, resource<multi>>(1L); },
     destroyed, nullptr, nullptr},
    {"pmr_deque_outlives_its_pool",
     [] { container_outlives_its_pool<std::pmr::deque<std::string>, resource<mono>>("a"); }, destroyed, nullptr,
     nullptr},
    {"list_read_after_its_pool", list_read_after_its_pool, destroyed, any, nullptr},
    {"map_searched_after_its_pool", map_searched_after_its_pool, destroyed, any, nullptr},
    {"pmr_map_searched_after_release", pmr_map_searched_after_release, was_released, any, nullptr},
    {"pmr_text_read_after_its_pool", pmr_text_read_after_its_pool, destroyed, any, nullptr},
    {"element_read_after_the_vector_grew", element_read_after_the_vector_grew, freed, any, nullptr},
    {"element_read_behind_the_capacity", element_read_behind_the_capacity, over, nullptr, nullptr},
    {"node_read_after_its_erasure", node_read_after_its_erasure, freed, any, nullptr},
    {"pooled_node_read_after_its_erasure", pooled_node_read_after_its_erasure, freed, any, nullptr},
    {"pooled_value_read_after_clear", pooled_value_read_after_clear, freed, any, nullptr},
    {"pooled_value_read_after_its_map", pooled_value_read_after_its_map, freed, any, nullptr},
    {"block_given_to_free", block_given_to_free<multi, 24>, given_to_free, any, nullptr},
    {"monotonics_block_given_to_free", block_given_to_free<mono, 24>, given_to_free, any, nullptr},
    {"arenas_block_given_to_free", block_given_to_free<in_arena, 200>, given_to_free, any, nullptr},
    {"shared_block_given_to_free", block_given_to_free<shared, 2000>, given_to_free, any, nullptr},
    {"large_block_given_to_free", block_given_to_free<multi, 200000>, given_to_free, any, nullptr},
    {"late_block_given_to_free", late_block_given_to_free, given_to_free, any, nullptr},
    {"block_given_to_realloc", block_given_to_realloc, given_to_free, any, nullptr},
    {"vectors_memory_given_to_free", vectors_memory_given_to_free, given_to_free, any, nullptr},
    {"padding_behind_24_bytes", padding_written<multi, 24, 8, 64>, over, nullptr, nullptr},
    {"padding_behind_24_bytes_at_its_end", padding_written<multi, 24, 8, 71>, over, nullptr, nullptr},
    {"padding_behind_100_bytes", padding_written<multi, 100, 8, 64>, over, nullptr, nullptr},
    {"padding_behind_100_bytes_at_its_end", padding_written<multi, 100, 8, 91>, over, nullptr, nullptr},
    {"padding_behind_3000_bytes", padding_written<multi, 3000, 8, 80>, over, nullptr, nullptr},
    {"padding_behind_a_shared_block", padding_written<shared, 100, 8, 80>, over, nullptr, nullptr},
    {"padding_behind_a_monotonics_block", padding_written<mono, 25, 8, 67>, over, nullptr, nullptr},
    {"padding_behind_an_arenas_aligned_block", padding_written<in_arena, 100, 64, 70>, over, nullptr, nullptr},
    {"pointer_followed_that_was_freed", pointer_followed_that_was_freed, freed, any, nullptr},
    {"pointer_followed_that_was_never_written", pointer_followed_that_was_never_written, "unwritten memory", nullptr,
     nullptr},
    {"pointer_followed_that_lies_behind_a_block", pointer_followed_that_lies_behind_a_block, over, nullptr, nullptr},
    {"array_read_behind_its_memory", array_read_at<100000, 70000>, over, any, nullptr},
    {"array_read_far_behind_its_memory", array_read_at<1000000, 900000>, over, any, nullptr},
    {"array_written_behind_its_limit", array_written_behind_its_limit, over, any, nullptr},
    {"array_read_after_it_shrank", array_read_after_it_shrank, freed, any, nullptr},
    {"array_read_after_its_destruction", array_read_after_its_destruction, was_released, any, nullptr},
    {"bare_arena_written_behind_what_is_committed", bare_arena_written_behind_what_is_committed, over, any, nullptr},
    {"bare_arena_written_behind_its_limit", bare_arena_written_behind_its_limit, over, any, nullptr},
    {"bare_arena_read_after_release", bare_arena_read_after_release, freed, any, nullptr},
    {"bare_arena_read_after_its_destruction", bare_arena_read_after_its_destruction, was_released, any, nullptr},
    {"block_read_by_a_thread_after_its_release_by_another", block_read_by_a_thread_after_its_release_by_another,
     was_released, nullptr, nullptr},
    {"block_read_by_a_child_after_its_free", block_read_by_a_child_after_its_free, freed, any, nullptr},
    {"block_of_the_pool_that_was_here_before", block_of_the_pool_that_was_here_before, "foreign pointer", nullptr,
     nullptr},
};

}  // namespace

std::span<const program> read_misuses() { return table; }

}  // namespace millpond::test
