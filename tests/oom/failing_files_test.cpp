// SPDX-License-Identifier: BSL-1.0
// failing_files_test: every call on a file, and every binding to a node, fails once or permanently. A failed request
// gives null, earlier promises are kept, the contents of a file are never overwritten, and all goes on afterwards.
#include <gtest/gtest.h>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <millpond/block/file_region.hpp>
#include <millpond/block/numa_region.hpp>
#include <millpond/local/monotonic.hpp>
#include <millpond/local/multipool.hpp>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "../unit/support/block_model.hpp"
#include "../unit/support/seed.hpp"

namespace millpond {
namespace {

struct plan_of_failures {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    inline static std::size_t calls = 0;
    inline static std::size_t fails_at = never;
    inline static bool fails_on = false;  // every later call fails, too

    static void start(std::size_t at = never, bool on = false) {
        calls = 0;
        fails_at = at;
        fails_on = on;
    }
    static bool fails() noexcept {
        const std::size_t number = calls++;
        return number == fails_at || (fails_on && number > fails_at);
    }
};

// Real pages whose calls fail when the plan says so.
template <class Pages>
class failing : public Pages {
  public:
    failing() noexcept : failing(make()) {}
    explicit failing(Pages pages) noexcept : Pages(std::move(pages)) {}

    void* reserve(std::size_t bytes) noexcept { return plan_of_failures::fails() ? nullptr : Pages::reserve(bytes); }
    bool commit(void* at, std::size_t bytes) noexcept { return !plan_of_failures::fails() && Pages::commit(at, bytes); }
    bool decommit(void* at, std::size_t bytes) noexcept {
        return !plan_of_failures::fails() && Pages::decommit(at, bytes);
    }
    bool set_writable(void* at, std::size_t bytes, bool writable) noexcept {
        return !plan_of_failures::fails() && Pages::set_writable(at, bytes, writable);
    }

  private:
    static Pages make() {
        if constexpr (std::is_same_v<Pages, os::file_pages>) {
            return os::file_pages::temporary(testing::TempDir().c_str());
        } else {
            return Pages();
        }
    }
};

constexpr std::size_t limit_bytes = std::size_t{16} << 20;

#if defined(__linux__) && defined(__LP64__)
int disk_error = 0;  // what the disk says to every demand for blocks
int signals = 0;     // so many demands are interrupted first
#endif

template <class Pool>
class failing_files : public testing::Test {
  protected:
    ~failing_files() override { plan_of_failures::start(); }
};

template <class Pages>
using region_over = basic_region<failing<Pages>>;
using pools = testing::Types<region_over<os::file_pages>, monotonic<region_over<os::file_pages>>,
                             multipool<region_over<os::file_pages>>, region_over<os::numa_pages>>;
TYPED_TEST_SUITE(failing_files, pools);

// Lives through two peaks. Returns the number of refused blocks.
template <class Pool>
int live_on(Pool& pool, test::block_model& model) {
    int refused = 0;
    auto numbers = test::random_numbers();
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); ++step) {
        if (step % 20 == 19) {
            model.check_all();
            pool.reset();
            model.clear();
        }
        if (!test::live_a_step(pool, model, numbers, step % 60 < 10 ? 100000 : 3000, 6)) ++refused;
    }
    model.check_all();
    return refused;
}

template <class Pool>
std::size_t calls_of_a_whole_life() {
    plan_of_failures::start();
    Pool pool(limit_bytes);
    test::block_model model;
    EXPECT_EQ(live_on(pool, model), 0);
    return plan_of_failures::calls;
}

TYPED_TEST(failing_files, one_failure_costs_at_most_one_block_and_nothing_else) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    ASSERT_GT(calls, 3U);
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        plan_of_failures::start(n);
        TypeParam pool(limit_bytes);
        test::block_model model;
        EXPECT_LE(live_on(pool, model), 1);
    }
}

TYPED_TEST(failing_files, exhausted_pages_keep_blocks_and_the_pool_recovers) {
    const std::size_t calls = calls_of_a_whole_life<TypeParam>();
    for (std::size_t n = 0; n < calls && !testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE(n);
        plan_of_failures::start(n, true);
        TypeParam pool(limit_bytes);
        test::block_model model;
        live_on(pool, model);
        plan_of_failures::start();
        pool.reset();
        model.clear();
        EXPECT_EQ(live_on(pool, model), 0) << "works again when the system does";
        pool.release();
    }
}

TEST(failing_files_with_contents, what_a_file_holds_is_never_given_out_again) {
    const std::string contents(100000, 'x');
    const std::string path = testing::TempDir() + "millpond-contents-" + std::to_string(test::seed());
    for (std::size_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        std::ofstream(path, std::ios::binary) << contents;
        plan_of_failures::start(n);
        region_over<os::file_pages> source(limit_bytes, failing(os::file_pages::open(path.c_str())));
        for (int i = 0; i < 3; ++i) {
            void* const block = source.try_allocate(50000, 8);
            if (block != nullptr) std::memset(block, i, 50000);
        }
        const bool failed = plan_of_failures::calls > n;
        plan_of_failures::start();
        EXPECT_NE(source.try_allocate(1, 1), nullptr) << "works again when the system does";
        ASSERT_NE(source.at(0), nullptr);
        EXPECT_EQ(std::memcmp(source.at(0), contents.data(), contents.size()), 0);
        if (!failed || HasFailure()) break;
    }
    std::remove(path.c_str());
}

#if defined(__linux__) && defined(__LP64__)
// A full disk gives a part of what was asked for: the file is as long as before, and so are its contents.
TEST(failing_files_beneath, a_full_disk_leaves_the_file_as_it_was) {
    file_region source(limit_bytes, os::file_pages::temporary(testing::TempDir().c_str()));
    char* const block = static_cast<char*>(source.allocate(100000, 8));
    std::memset(block, 1, 100000);
    const std::size_t length = source.page_source().bytes();
    for (const int error : {ENOSPC, EDQUOT, EIO}) {
        disk_error = error;
        EXPECT_EQ(source.try_allocate(std::size_t{3} << 20, 8), nullptr);
        EXPECT_EQ(source.page_source().error(), static_cast<std::errc>(error));
        EXPECT_EQ(source.page_source().bytes(), length);
        EXPECT_THROW(static_cast<void>(source.allocate(std::size_t{3} << 20, 8)), std::bad_alloc);
    }
    disk_error = 0;
    EXPECT_NE(source.try_allocate(std::size_t{3} << 20, 8), nullptr);
    EXPECT_EQ(block[99999], 1);
}

TEST(failing_files_beneath, signals_do_not_disturb_a_growth) {
    file_region source(limit_bytes, os::file_pages::temporary(testing::TempDir().c_str()));
    signals = 5;
    EXPECT_NE(source.try_allocate(std::size_t{3} << 20, 8), nullptr);
    EXPECT_EQ(signals, 0);
}
#endif

}  // namespace
}  // namespace millpond

#if defined(__linux__) && defined(__LP64__)
// The library's call, in place of the C library's: with a disk_error it gives half of what is asked for, and fails.
extern "C" int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
    const int error = millpond::disk_error;
    if (millpond::signals > 0) {
        --millpond::signals;
        return EINTR;
    }
    if (error != 0) bytes /= 2;
    if (syscall(SYS_fallocate, descriptor, 0, offset, bytes) != 0) return errno;
    return error;
}
#endif
