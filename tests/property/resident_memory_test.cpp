// SPDX-License-Identifier: BSL-1.0
// resident_memory_test: the resident memory after all elements are freed, in any of four orders, and after their owner
// has ended: at most a twentieth of the full size. Each life runs in a process of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <millpond/millpond.hpp>
#include <numeric>
#include <random>
#include <string>

#include "../unit/support/seed.hpp"

#if defined(__linux__) && !defined(MILLPOND_ASAN)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millpond {
namespace {

// Returns the kilobytes of anonymous memory from the page tables; 0 if the system does not tell.
long resident_kilobytes() {
    char text[4096];
    const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[std::max<ssize_t>(bytes, 0)] = 0;
    const char* const found = std::strstr(text, "Anonymous:");
    return found == nullptr ? 0 : std::atol(found + 10);
}

// An array in pages of its own, all of them resident.
template <class T>
T* resident_array(std::size_t n) {
    void* const memory =
        mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

enum class order { first_to_last, last_to_first, random, every_second };

unsigned* in_order(order which, std::size_t n) {
    unsigned* const all = resident_array<unsigned>(n);
    std::iota(all, all + n, 0U);
    if (which == order::last_to_first) std::reverse(all, all + n);
    if (which == order::random) std::shuffle(all, all + n, test::random_numbers());
    if (which == order::every_second) std::stable_partition(all, all + n, [](unsigned i) { return i % 2 == 0; });
    return all;
}

// Returns 0 if little was left, 1 if not, 2 if nothing could be measured. Runs in a process of its own.
template <class Allocator>
int live(Allocator* allocator, order which, std::size_t n) {
    double** const at = resident_array<double*>(n);
    unsigned* const freed = in_order(which, n);
    const long start = resident_kilobytes();
    if (start == 0) return 2;
    for (std::size_t i = 0; i < n; ++i) *(at[i] = allocator->allocate(1)) = static_cast<double>(i);
    const long full = resident_kilobytes() - start;
    for (std::size_t i = 0; i < n; ++i) allocator->deallocate(at[freed[i]], 1);
    const long left = resident_kilobytes() - start;
    std::destroy_at(allocator);
    const long gone = resident_kilobytes() - start;
    std::fprintf(stderr, "%zu doubles: %ld kB full, %ld left, %ld gone\n", n, full, left, gone);
    return left * 20 <= full && gone * 20 <= full ? 0 : 1;
}

template <class Make>
void expect_little_left(int first, int last, Make make) {
    for (int k = first; k <= last; ++k) {
        for (const order which : {order::first_to_last, order::last_to_first, order::random, order::every_second}) {
            SCOPED_TRACE("2^" + std::to_string(k) + " + 1 doubles, order " + std::to_string(static_cast<int>(which)));
            const pid_t child = fork();
            ASSERT_GE(child, 0);
            if (child == 0) _exit(live(make(), which, (std::size_t{1} << k) + 1));
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFEXITED(status));
            if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "the system does not say what is resident";
            EXPECT_EQ(WEXITSTATUS(status), 0);
        }
    }
}

// An object made in place, so that the test decides when it ends.
template <class Allocator, class... Arguments>
Allocator* made(const Arguments&... arguments) {
    return ::new (std::malloc(sizeof(Allocator))) Allocator(arguments...);
}

using over_standard = suballocator<std::allocator<double>>;
using over_resource = suballocator<std::pmr::polymorphic_allocator<double>>;
using over_multipool = suballocator<allocator<double, multipool<>>>;

over_resource* over(std::pmr::memory_resource* resource) {
    return made<over_resource>(std::pmr::polymorphic_allocator<double>(resource));
}

TEST(resident_memory, suballocator_over_the_heap_keeps_a_twentieth) {
    expect_little_left(16, 19, [] { return made<over_standard>(); });
    expect_little_left(16, 19, [] { return over(std::pmr::new_delete_resource()); });
}
// The multipool itself keeps 50 KiB, so the smallest sizes are left out.
TEST(resident_memory, suballocator_over_a_multipool_keeps_a_twentieth) {
    static multipool<> pool;
    static resource<multipool<>> pool_resource;
    expect_little_left(18, 20, [] { return made<over_multipool>(allocator<double, multipool<>>(&pool)); });
    expect_little_left(18, 20, [] { return over(&pool_resource); });
}
TEST(resident_memory_slow, suballocators_keep_a_twentieth_of_half_a_gigabyte) {
    static multipool<> pool;
    expect_little_left(20, 26, [] { return made<over_standard>(); });
    expect_little_left(24, 26, [] { return over(std::pmr::new_delete_resource()); });
    expect_little_left(24, 26, [] { return made<over_multipool>(allocator<double, multipool<>>(&pool)); });
}

}  // namespace
}  // namespace millpond

#else
TEST(resident_memory, is_measured_on_linux_without_address_sanitizer) {
    GTEST_SKIP() << "there is no /proc here, or AddressSanitizer keeps what is freed";
}
#endif
