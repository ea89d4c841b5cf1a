// SPDX-License-Identifier: BSL-1.0
// region_process_test: ranges of addresses in special POSIX processes: forked, limited in addresses, with locked
// memory, with many mappings, refused by the system.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory_resource>
#include <millpond/bind/resource.hpp>
#include <millpond/block/file_region.hpp>
#include <millpond/block/numa_region.hpp>
#include <millpond/block/reservation.hpp>
#include <millpond/local/arena.hpp>
#include <millpond/local/multipool.hpp>
#include <string>

namespace millpond {
namespace {

using os::pages;

constexpr std::size_t mega = std::size_t{1} << 20;

#if defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = detail::address_sanitizer;
#endif
#else
constexpr bool sanitized = detail::address_sanitizer;
#endif

// Returns true if `act` is true in a forked child.
template <class Act>
bool in_a_child(Act act) {
    const pid_t child = fork();
    if (child == 0) _exit(act() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool holds(const char* block, std::size_t bytes, char value) {
    return std::all_of(block, block + bytes, [value](char found) { return found == value; });
}

TEST(region_in_a_process, a_forked_child_goes_on_with_its_own_copy) {
    arena pool(64 * mega);
    char* const old = static_cast<char*>(pool.allocate(3 * mega, 8));
    std::memset(old, 1, 3 * mega);
    const auto place = pool.checkpoint();
    EXPECT_TRUE(in_a_child([&] {
        if (!holds(old, 3 * mega, 1)) return false;
        std::memset(old, 2, 3 * mega);
        for (int i = 0; i < 20; ++i) std::memset(pool.allocate(mega, 8), 3, mega);
        for (int i = 0; i < 20; ++i) pool.rewind(place);
        std::memset(pool.allocate(50 * mega, 8), 4, 50 * mega);
        pool.release();
        return pool.try_allocate(60 * mega, 8) != nullptr;
    }));
    EXPECT_TRUE(holds(old, 3 * mega, 1)) << "the child wrote into the parent's memory";
    std::memset(pool.allocate(40 * mega, 8), 5, 40 * mega);
    EXPECT_TRUE(holds(old, 3 * mega, 1));
}

// Sanitizers reserve terabytes of addresses, so no address limit can be set below them.
TEST(region_in_a_process, the_range_is_smaller_under_an_address_limit) {
    if (sanitized) GTEST_SKIP() << "the sanitizer needs the addresses itself";
    EXPECT_TRUE(in_a_child([] {
        std::ifstream sizes("/proc/self/statm");
        std::size_t in_pages = 0;
        sizes >> in_pages;
        const rlim_t limit = in_pages * pages::size() + 100 * mega;
        const rlimit limits{limit, limit};
        if (setrlimit(RLIMIT_AS, &limits) != 0) return false;
        arena pool;
        char* const block = static_cast<char*>(pool.try_allocate(20 * mega, 8));
        if (block == nullptr) return false;
        std::memset(block, 1, 20 * mega);
        const std::size_t most = pool.source().limit_bytes();
        return most >= 32 * mega && most < 100 * mega && pool.try_allocate(most, 8) == nullptr;
    }));
}

TEST(region_in_a_process, a_refused_commit_leaves_the_region_unchanged) {
    std::ifstream setting("/proc/sys/vm/overcommit_memory");
    int overcommit = 1;
    setting >> overcommit;
    if (overcommit == 1) GTEST_SKIP() << "this system promises everything";
    constexpr int address_bits = std::numeric_limits<std::size_t>::digits;
    if (address_bits < 48) GTEST_SKIP() << "there are too few addresses to ask for too much";
    region source(std::size_t{1} << 44 % address_bits);
    char* const block = static_cast<char*>(source.try_allocate(mega, 8));
    ASSERT_NE(block, nullptr);
    std::memset(block, 1, mega);
    const std::size_t held = source.held_bytes();
    const std::size_t too_much = source.limit_bytes() - 2 * mega;
    if (too_much < std::size_t{1} << 42 % address_bits)
        GTEST_SKIP() << "there are too few addresses to ask for too much";
    EXPECT_EQ(source.try_allocate(too_much, 8), nullptr);
    EXPECT_EQ(source.try_resize(block, mega, too_much), mega);
    EXPECT_EQ(source.held_bytes(), held);
    EXPECT_TRUE(holds(block, mega, 1));
    EXPECT_NE(source.try_allocate(mega, 8), nullptr);
}

// Returns true if the process died of a write that it was not allowed; sanitizers turn the signal into a report.
bool died_of_a_fault(int status) {
    return sanitized ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

template <class Source>
void writes_end_the_program_while_protected(Source& source) {
    auto* const numbers = static_cast<volatile int*>(source.try_allocate(1000 * sizeof(int), alignof(int)));
    ASSERT_NE(numbers, nullptr);
    for (int i = 0; i < 1000; ++i) numbers[i] = i;
    ASSERT_TRUE(source.protect());
    EXPECT_EQ(numbers[999], 999);
    EXPECT_EXIT(numbers[999] = 1, died_of_a_fault, "");
    ASSERT_TRUE(source.unprotect());
    numbers[999] = 1;
    EXPECT_EQ(numbers[999], 1);
}

TEST(region_in_a_process, a_write_to_protected_blocks_is_a_fault) {
    region plain;
    writes_end_the_program_while_protected(plain);
    numa_region on_a_node(64 * mega, os::numa_pages());
    writes_end_the_program_while_protected(on_a_node);
    file_region in_a_file(64 * mega, os::file_pages::temporary(testing::TempDir().c_str()));
    writes_end_the_program_while_protected(in_a_file);
}

TEST(region_in_a_process, a_map_that_is_built_and_protected_can_be_read) {
    resource<multipool<region>> base(64 * mega);
    std::pmr::map<int, std::pmr::string> map(&base);
    for (int i = 0; i < 1000; ++i) map.emplace(i, std::string(100, 'x'));
    region& memory = base.target().source();
    ASSERT_TRUE(memory.protect());
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(map.at(i).size(), 100U);
    EXPECT_EXIT(map.at(500)[50] = 'y', died_of_a_fault, "");
    EXPECT_EXIT(map.erase(500), died_of_a_fault, "");
    ASSERT_TRUE(memory.unprotect());
    map.erase(500);
    EXPECT_EQ(map.size(), 999U);
}

TEST(region_in_a_process, locked_pages_that_cannot_go_back_read_as_zero_all_the_same) {
    const std::size_t bytes = 4 * pages::size();
    char* const memory = static_cast<char*>(pages::reserve(bytes));
    ASSERT_TRUE(pages::commit(memory, bytes));
    std::memset(memory, 1, bytes);
    const bool locked = mlock(memory, bytes) == 0;
    pages::discard(memory, bytes);
    EXPECT_TRUE(holds(memory, bytes, 0));
    pages::release(memory, bytes);
    if (!locked) GTEST_SKIP() << "this process may not lock memory";
}

TEST(region_in_a_process, memory_that_went_back_is_the_systems_again) {
    if (sanitized) GTEST_SKIP() << "the sanitizer holds memory for each page";
    const auto resident_bytes = [] {
        std::ifstream sizes("/proc/self/statm");
        std::size_t all = 0, resident = 0;
        sizes >> all >> resident;
        return resident * pages::size();
    };
    const std::size_t before = resident_bytes();
    arena pool;
    std::memset(pool.allocate(64 * mega, 8), 1, 64 * mega);
    EXPECT_GT(resident_bytes(), before + 60 * mega);
    for (int i = 0; i < 9; ++i) {
        pool.reset();
        static_cast<void>(pool.allocate(100, 8));
    }
    EXPECT_LT(resident_bytes(), before + 8 * mega);
}

TEST(region_in_a_process, holes_and_advice_never_split_the_range_into_many_mappings) {
    const auto mappings = [] {
        std::ifstream maps("/proc/self/maps");
        return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    };
    reservation range(256 * mega);
    const auto before = mappings();
    ASSERT_TRUE(range.commit_to(200 * mega));
    for (std::size_t i = 0; i < 200 * mega; i += 64 * pages::size()) range.discard(i, i + pages::size());
    for (int i = 0; i < 40; ++i) {
        range.advise_huge(i % 3 != 0);
        range.decommit_to(static_cast<std::size_t>(i * 7 % 40) * mega);
        ASSERT_TRUE(range.commit_to(static_cast<std::size_t>(50 + i * 11 % 150) * mega));
    }
    EXPECT_LE(mappings(), before + 8);
}

}  // namespace
}  // namespace millpond
