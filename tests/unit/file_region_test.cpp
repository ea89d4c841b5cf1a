// SPDX-License-Identifier: BSL-1.0
// file_region_test: memory in files: kept and removed ones, and what the file system refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <millpond/block/file_region.hpp>
#include <millpond/local/monotonic.hpp>
#include <millpond/local/multipool.hpp>
#include <string>
#include <utility>

#include "support/in_a_child.hpp"

namespace millpond {
namespace {

using os::file_pages;
using test::status_of_child;

static_assert(managed_allocator<file_region> && rounding_source<file_region> && resizing_source<file_region>);

constexpr std::size_t kilo = 1024;
constexpr std::size_t mega = 1024 * kilo;

class files : public testing::Test {
  protected:
    files() : folder_(testing::TempDir() + "millpond-files-XXXXXX") {
        if (mkdtemp(folder_.data()) == nullptr) ADD_FAILURE() << "no folder " << folder_;
        errno = 77;
    }
    ~files() override {
        EXPECT_EQ(errno, 77) << "errno belongs to the caller";
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] std::string path(const char* name) const { return folder_ + '/' + name; }
    [[nodiscard]] bool is_empty() const {
        const int before = errno;  // some libraries change it here
        const bool found = std::filesystem::is_empty(folder_);
        errno = before;
        return found;
    }
    [[nodiscard]] std::string contents(const char* name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string folder_;
};

char* place(void* block) { return static_cast<char*>(block); }

bool holds(const char* block, std::size_t bytes, char value) {
    return std::all_of(block, block + bytes, [value](char found) { return found == value; });
}

TEST_F(files, a_temporary_file_has_no_name_and_grows_with_the_blocks) {
    file_region source(64 * mega, file_pages::temporary(folder_.c_str()));
    EXPECT_TRUE(is_empty());
    EXPECT_EQ(source.page_source().bytes(), 0U);
    char* const small = place(source.try_allocate(100, 8));
    ASSERT_NE(small, nullptr) << static_cast<int>(source.page_source().error());
    char* const large = place(source.try_allocate(5 * mega, 4096));
    ASSERT_NE(large, nullptr);
    std::memset(small, 1, 100);
    std::memset(large, 2, 5 * mega);
    EXPECT_EQ(source.page_source().bytes(), source.held_bytes());
    EXPECT_TRUE(is_empty());
    source.deallocate(large, 5 * mega, 4096);
    EXPECT_TRUE(holds(small, 100, 1));
    source.release();
    EXPECT_EQ(source.page_source().bytes(), 0U) << "the file is as short as the memory";
    const char* const again = place(source.try_allocate(5 * mega, 8));
    EXPECT_EQ(again, small);
    EXPECT_TRUE(holds(again, 5 * mega, 0));
}

TEST_F(files, the_limit_is_one_of_the_file_too) {
    file_region source(64 * kilo, file_pages::temporary(folder_.c_str()));
    while (source.try_allocate(1000, 8) != nullptr) continue;
    EXPECT_EQ(source.page_source().error(), std::errc{}) << "not the file system's refusal";
    EXPECT_EQ(source.page_source().bytes(), 64 * kilo);
    EXPECT_EQ(source.try_allocate(~std::size_t{0}, 8), nullptr);
}

TEST_F(files, a_kept_file_goes_on_where_it_ended) {
    const std::string name = path("kept");
    struct root {
        std::size_t text_offset;
        std::size_t length;
    };
    {
        file_region source(mega, file_pages::create(name.c_str()));
        auto* const first = static_cast<root*>(source.try_allocate(sizeof(root), alignof(root)));
        ASSERT_NE(first, nullptr);
        EXPECT_EQ(source.offset_of(first), 0U);
        char* const text = place(source.try_allocate(5, 1));
        std::memcpy(text, "water", 5);
        *first = {source.offset_of(text), 5};
    }
    EXPECT_EQ(contents("kept").substr(sizeof(root), 5), "water");
    for (int run = 0; run < 3; ++run) {
        file_region source(mega, file_pages::open(name.c_str()));
        const auto* const first = static_cast<root*>(source.at(0));
        ASSERT_NE(first, nullptr);
        EXPECT_EQ(std::string(place(source.at(first->text_offset)), first->length), "water");
        const std::size_t before = source.used_bytes();
        char* const more = place(source.try_allocate(1000, 8));
        ASSERT_NE(more, nullptr);
        EXPECT_GE(source.offset_of(more), before);
        EXPECT_EQ(source.at(source.used_bytes()), nullptr) << "nothing is in use there";
        std::memset(more, run, 1000);
        source.deallocate(more, 1000, 8);
        EXPECT_EQ(source.used_bytes(), before) << "the old contents are a block in use";
    }
    file_region source(mega, file_pages::open(name.c_str()));
    source.release();
    EXPECT_EQ(contents("kept"), "");
}

TEST_F(files, an_opened_file_may_be_longer_than_the_limit) {
    std::ofstream(path("long")) << std::string(100000, 'x');
    file_region source(0, file_pages::open(path("long").c_str()));
    ASSERT_NE(source.at(0), nullptr);
    EXPECT_TRUE(holds(place(source.at(0)), 100000, 'x'));
    EXPECT_EQ(source.try_allocate(64 * kilo, 1), nullptr);
}

TEST_F(files, what_the_file_system_refuses_is_told) {
    const auto expect_refused = [](file_pages pages, std::errc reason) {
        EXPECT_EQ(pages.error(), reason) << static_cast<int>(pages.error());
        EXPECT_EQ(pages.descriptor(), -1);
        EXPECT_EQ(pages.bytes(), 0U);
        file_region source(mega, std::move(pages));
        EXPECT_EQ(source.try_allocate(1, 1), nullptr);
        EXPECT_EQ(source.try_allocate_at_least(1, 1).start, nullptr);
        EXPECT_EQ(source.at(0), nullptr);
        EXPECT_EQ(source.page_source().error(), reason) << "the first reason, not what follows from it";
        source.reset();
        source.release();
    };
    std::ofstream(path("there")) << "mine";
    expect_refused(file_pages::create(path("there").c_str()), std::errc::file_exists);
    EXPECT_EQ(contents("there"), "mine");
    expect_refused(file_pages::create(path("no/file").c_str()), std::errc::no_such_file_or_directory);
    expect_refused(file_pages::open(path("nothing").c_str()), std::errc::no_such_file_or_directory);
    expect_refused(file_pages::open(folder_.c_str()), std::errc::is_a_directory);
    expect_refused(file_pages::temporary(path("nowhere").c_str()), std::errc::no_such_file_or_directory);
    expect_refused(file_pages::temporary(std::string(5000, 'x').c_str()), std::errc::filename_too_long);
    expect_refused(file_pages::adopt(-1), std::errc::bad_file_descriptor);
    file_region without;
    EXPECT_EQ(without.try_allocate(1, 1), nullptr);
    EXPECT_EQ(without.page_source().error(), std::errc::bad_file_descriptor);
    // A descriptor that cannot be mapped, or not written.
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[1]);
    file_region in_a_pipe(mega, file_pages::adopt(ends[0]));
    EXPECT_EQ(in_a_pipe.try_allocate(1, 1), nullptr);
    EXPECT_NE(in_a_pipe.page_source().error(), std::errc{});
    file_region read_only(mega, file_pages::adopt(open(path("there").c_str(), O_RDONLY | O_CLOEXEC)));
    EXPECT_EQ(read_only.at(0), nullptr);
    EXPECT_EQ(read_only.page_source().error(), std::errc::permission_denied);
    errno = 77;
}

TEST_F(files, a_refused_change_of_protection_is_told) {
    file_pages pages = file_pages::temporary(folder_.c_str());
    EXPECT_FALSE(pages.set_writable(nullptr, file_pages::size(), false)) << "there is no such mapping";
    EXPECT_EQ(pages.error(), std::errc::not_enough_memory);
}

TEST_F(files, too_many_open_files_are_told) {
    EXPECT_EQ(status_of_child([this] {
                  const rlimit none{0, 0};
                  if (setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
                  return file_pages::temporary(folder_.c_str()).error() == std::errc::too_many_files_open &&
                         file_pages::create(path("a").c_str()).error() == std::errc::too_many_files_open;
              }),
              0);
}

// The system's own answer to a file above this limit is a signal.
TEST_F(files, the_limit_of_file_sizes_gives_null_and_no_signal) {
    EXPECT_EQ(status_of_child([this] {
                  const rlimit most{256 * kilo, 256 * kilo};
                  if (setrlimit(RLIMIT_FSIZE, &most) != 0) return false;
                  file_region source(64 * mega, file_pages::temporary(folder_.c_str()));
                  char* const block = place(source.try_allocate(200 * kilo, 8));
                  if (block == nullptr) return false;
                  std::memset(block, 1, 200 * kilo);
                  if (source.try_allocate(100 * kilo, 8) != nullptr) return false;
                  return source.page_source().error() == std::errc::file_too_large && holds(block, 200 * kilo, 1) &&
                         source.try_allocate(10 * kilo, 8) != nullptr;
              }),
              0);
}

TEST_F(files, pools_live_in_a_file) {
    multipool<file_region> pool(16 * mega, file_pages::temporary(folder_.c_str()));
    monotonic<file_region> stack(16 * mega, file_pages::create(path("stack").c_str()));
    for (int i = 0; i < 1000; ++i) {
        std::memset(pool.allocate(100, 8), i, 100);
        std::memset(stack.allocate(100, 8), 'x', 100);
    }
    EXPECT_GE(pool.source().page_source().bytes(), 100000U);
    EXPECT_GE(contents("stack").size(), 100000U);
}

TEST_F(files, pages_of_a_file_can_move) {
    file_pages first = file_pages::temporary(folder_.c_str());
    const int descriptor = first.descriptor();
    ASSERT_GE(descriptor, 0);
    file_pages second(std::move(first));
    EXPECT_EQ(first.descriptor(), -1);  // NOLINT(bugprone-use-after-move): it has no file any more
    file_pages third;
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    basic_reservation<file_pages> range(mega, std::move(third));
    ASSERT_TRUE(range.commit_to(100));
    range.data()[99] = std::byte{7};
    basic_reservation<file_pages> moved(std::move(range));
    ASSERT_TRUE(moved.commit_to(100 * kilo));
    EXPECT_EQ(moved.data()[99], std::byte{7});
    EXPECT_EQ(moved.page_source().bytes(), moved.committed());
}

}  // namespace
}  // namespace millpond
