// SPDX-License-Identifier: BSL-1.0
// shared_memory_test: a file_region whose memory processes share, by fork and by a descriptor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <millpond/block/file_region.hpp>
#include <millpond/block/fixed_buffer.hpp>
#include <millpond/block/source_ref.hpp>
#include <millpond/local/multipool.hpp>
#include <millpond/wrap/synchronized.hpp>
#include <new>

#include "support/in_a_child.hpp"

#if defined(MFD_ALLOW_SEALING)
namespace millpond {
namespace {

using os::file_pages;
using test::status_of_child;

constexpr std::size_t kilo = 1024;
constexpr std::size_t mega = 1024 * kilo;

char* place(void* block) { return static_cast<char*>(block); }

bool holds(const char* block, std::size_t bytes, char value) {
    return std::all_of(block, block + bytes, [value](char found) { return found == value; });
}

TEST(shared_memory, a_forked_child_and_its_parent_see_the_same_blocks) {
    file_region source(16 * mega, file_pages::shared("test"));
    auto* const counter =
        ::new (source.allocate(sizeof(std::atomic<int>), alignof(std::atomic<int>))) std::atomic<int>(0);
    char* const text = place(source.allocate(mega, 8));
    for (int i = 1; i <= 3; ++i) {
        ASSERT_EQ(status_of_child([&] {
                      if (*counter != i - 1) return false;
                      std::memset(text, i, mega);
                      return ++*counter == i;
                  }),
                  0);
        EXPECT_EQ(*counter, i);
        EXPECT_TRUE(holds(text, mega, static_cast<char>(i)));
    }
}

TEST(shared_memory, an_ending_child_takes_nothing_away) {
    file_region source(16 * mega, file_pages::shared("test"));
    char* const block = place(source.allocate(mega, 8));
    std::memset(block, 1, mega);
    const std::size_t length = source.page_source().bytes();
    EXPECT_EQ(status_of_child([&] {
                  const file_region here(16 * mega, file_pages::adopt(dup(source.page_source().descriptor())));
                  source.~file_region();
                  ::new (&source) file_region;
                  return here.at(mega - 1) != nullptr;
              }),
              0);
    EXPECT_EQ(source.page_source().bytes(), length);
    EXPECT_TRUE(holds(block, mega, 1));
}

// A list whose links are indices, so that it is right wherever it is mapped.
struct indexed_list {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct node {
        int value;
        std::uint32_t next;
    };
    std::uint32_t first = none;
    std::uint32_t count = 0;
    std::size_t nodes_offset = 0;
};

int sum(const file_region& memory, const indexed_list& list) {
    const auto* const nodes = static_cast<const indexed_list::node*>(memory.at(list.nodes_offset));
    int total = 0;
    for (std::uint32_t at = list.first; at != indexed_list::none; at = nodes[at].next) total += nodes[at].value;
    return total;
}

void push(file_region& memory, indexed_list& list, int value) {
    auto* const nodes = static_cast<indexed_list::node*>(memory.at(list.nodes_offset));
    nodes[list.count] = {value, list.first};
    list.first = list.count++;
}

indexed_list& make_list(file_region& memory) {
    auto* const list = ::new (memory.allocate(sizeof(indexed_list), alignof(indexed_list))) indexed_list;
    list->nodes_offset = memory.offset_of(memory.allocate(1000 * sizeof(indexed_list::node), 8));
    return *list;
}

TEST(shared_memory, indices_are_right_at_other_addresses) {
    file_region ours(mega, file_pages::shared("test"));
    indexed_list& list = make_list(ours);
    for (int i = 1; i <= 100; ++i) push(ours, list, i);
    file_region theirs(mega, file_pages::adopt(dup(ours.page_source().descriptor())));
    ASSERT_NE(theirs.at(0), nullptr);
    EXPECT_NE(theirs.at(0), ours.at(0));
    auto& seen = *static_cast<indexed_list*>(theirs.at(0));
    EXPECT_EQ(sum(theirs, seen), 5050);
    push(theirs, seen, 50);
    EXPECT_EQ(sum(ours, list), 5100);
}

bool send_descriptor(int through, int descriptor) {
    char byte = 'd';
    iovec data{&byte, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
    return sendmsg(through, &message, 0) == 1;
}

int receive_descriptor(int from) {
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    int descriptor = -1;
    if (recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != nullptr)
        std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return descriptor;
}

// The child is older than the memory: it gets it only by the descriptor.
TEST(shared_memory, a_process_that_is_sent_the_descriptor_uses_the_blocks) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        file_region memory(mega, file_pages::adopt(receive_descriptor(sockets[1])));
        auto* const list = static_cast<indexed_list*>(memory.at(0));
        if (list == nullptr || sum(memory, *list) != 10) _exit(1);
        push(memory, *list, 90);
        _exit(0);
    }
    file_region source(mega, file_pages::shared("test"));
    indexed_list& list = make_list(source);
    for (int i = 1; i <= 4; ++i) push(source, list, i);
    EXPECT_TRUE(send_descriptor(sockets[0], source.page_source().descriptor()));
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(sum(source, list), 100);
    for (const int end : sockets) close(end);
}

TEST(shared_memory, who_adopts_a_file_follows_it_and_never_changes_its_length) {
    file_region owner(16 * mega, file_pages::shared("test"));
    static_cast<void>(owner.allocate(100, 8));
    file_region other(16 * mega, file_pages::adopt(dup(owner.page_source().descriptor())));
    const std::size_t length = owner.page_source().bytes();
    EXPECT_EQ(other.used_bytes(), length);
    EXPECT_EQ(other.try_allocate(1, 1), nullptr);
    EXPECT_EQ(other.page_source().error(), std::errc::operation_not_permitted);
    char* const later = place(owner.allocate(mega, 8));
    std::memset(later, 5, mega);
    EXPECT_EQ(other.at(owner.offset_of(later) + mega - 1), nullptr);
    EXPECT_TRUE(other.attach());
    ASSERT_NE(other.at(owner.offset_of(later)), nullptr);
    EXPECT_TRUE(holds(place(other.at(owner.offset_of(later))), mega, 5));
    other.release();
    EXPECT_TRUE(holds(later, mega, 5)) << "not the other's to give back";
    EXPECT_GE(owner.page_source().bytes(), mega);
}

TEST(shared_memory, a_file_that_cannot_grow_gives_null_and_keeps_its_blocks) {
    file_region source(16 * mega, file_pages::shared("test"));
    char* const block = place(source.allocate(100 * kilo, 8));
    std::memset(block, 1, 100 * kilo);
    ASSERT_EQ(fcntl(source.page_source().descriptor(), F_ADD_SEALS, F_SEAL_GROW), 0);
    const std::size_t held = source.held_bytes();
    EXPECT_EQ(source.try_allocate(mega, 8), nullptr);
    EXPECT_EQ(source.page_source().error(), std::errc::operation_not_permitted);
    EXPECT_EQ(source.held_bytes(), held);
    EXPECT_TRUE(holds(block, 100 * kilo, 1));
}

TEST(shared_memory, a_file_that_cannot_shrink_stays_and_is_used_again) {
    file_region source(16 * mega, file_pages::shared("test"));
    void* const block = source.allocate(mega, 8);
    ASSERT_EQ(fcntl(source.page_source().descriptor(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const std::size_t held = source.held_bytes();
    source.release();
    EXPECT_EQ(source.held_bytes(), held);
    EXPECT_EQ(source.page_source().error(), std::errc::operation_not_permitted);
    EXPECT_EQ(source.try_allocate(mega, 8), block);
    std::memset(block, 1, mega);
}

// Locks processes; std::mutex locks the threads of one only.
class process_lock {
  public:
    void lock() noexcept {
        while (is_locked_.test_and_set(std::memory_order_acquire)) sched_yield();
    }
    void unlock() noexcept { is_locked_.clear(std::memory_order_release); }

  private:
    std::atomic_flag is_locked_ = ATOMIC_FLAG_INIT;
};

// The pool, its lock and its blocks lie in the shared memory, at the same addresses in all children.
TEST(shared_memory, forked_children_allocate_from_one_pool_behind_a_lock) {
    if (detail::address_sanitizer) GTEST_SKIP() << "it knows only the blocks of its own process";
    using pool_type = synchronized<multipool<source_ref<fixed_buffer>>, process_lock>;
    constexpr int children = 3, blocks = 500, bytes = 200;
    struct everything {
        fixed_buffer buffer;
        pool_type pool;
        unsigned char* found[children][blocks];
        everything(void* memory, std::size_t size) : buffer(memory, size), pool(buffer) {}
    };
    file_region source(16 * mega, file_pages::shared("test"));
    void* const memory = source.allocate(8 * mega, 64);
    auto* const all = ::new (source.allocate(sizeof(everything), alignof(everything))) everything(memory, 8 * mega);
    pid_t running[children];
    for (int child = 0; child < children; ++child) {
        running[child] = fork();
        if (running[child] != 0) continue;
        alarm(60);
        for (int i = 0; i < blocks; ++i) {
            void* const passing = all->pool.try_allocate(bytes, 8);
            all->found[child][i] = static_cast<unsigned char*>(all->pool.try_allocate(bytes, 8));
            if (passing == nullptr || all->found[child][i] == nullptr) _exit(1);
            std::memset(all->found[child][i], child + 1, bytes);
            all->pool.deallocate(passing, bytes, 8);
        }
        _exit(0);
    }
    for (const pid_t child : running) {
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    for (int child = 0; child < children; ++child) {
        for (const unsigned char* block : all->found[child])
            ASSERT_TRUE(std::all_of(block, block + bytes, [child](int value) { return value == child + 1; }));
    }
    all->~everything();
}

}  // namespace
}  // namespace millpond
#endif
