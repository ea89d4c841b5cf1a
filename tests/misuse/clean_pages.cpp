// SPDX-License-Identifier: BSL-1.0
// Programs without a misuse that reach the ends of blocks, ranges and lives: no mode may report anything.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "misuses.hpp"

namespace millpond::test {
namespace {

void expect(bool holds) {
    if (!holds) std::exit(1);
}

template <class Pool>
void every_byte_is_used(Pool& pool) {
    for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        for (const std::size_t bytes : {1, 7, 8, 24, 100, 1000, 4032, 4096, 5000, 40000}) {
            auto* const block = static_cast<unsigned char*>(pool.allocate(bytes, alignment));
            expect(detail::is_aligned(block, alignment));
            std::memset(block, 'x', bytes);
            for (std::size_t i = 0; i < bytes; ++i) expect(hidden(block)[i] == 'x');
            pool.deallocate(block, bytes, alignment);
        }
    }
}

void every_byte_of_every_size_and_alignment() {
    multi first;
    every_byte_is_used(first);
    mono second;
    every_byte_is_used(second);
    in_mode<arena> third;
    every_byte_is_used(third);
    in_mode<synchronized_multipool<>> fourth;
    every_byte_is_used(fourth);
    in_mode<compact_pool<32>> fifth;
    every_byte_is_used(fifth);
    in_mode<counted<limited<multipool<>>>> sixth(byte_limit{std::size_t{100} << 20});
    every_byte_is_used(sixth);
}

void blocks_of_many_mib() {
    multi pool;
    for (std::size_t bytes = std::size_t{1} << 20; bytes <= std::size_t{16} << 20; bytes *= 2) {
        auto* const block = static_cast<char*>(pool.allocate(bytes, 64));
        block[0] = block[bytes - 1] = 'x';
        expect(hidden(block)[bytes - 1] == 'x');
        pool.deallocate(block, bytes, 64);
    }
}

void more_blocks_than_have_pages() {
    multi pool;
    std::vector<char*> blocks;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 3000; ++i) {
            blocks.push_back(static_cast<char*>(pool.allocate(56, 8)));
            std::memset(blocks.back(), i, 56);
        }
        for (int i = 0; i < 3000; ++i) expect(blocks[static_cast<std::size_t>(i)][55] == static_cast<char>(i));
        for (char* block : blocks) pool.deallocate(block, 56, 8);
        blocks.clear();
    }
}

void pools_come_and_go() {
    for (int i = 0; i < 2000; ++i) {
        std::optional<multi> pool(std::in_place);
        std::list<int, allocator<int, multi>> numbers({1, 2, 3}, &*pool);
        expect(numbers.size() == 3);
        numbers.clear();
        mono scratch;
        std::memset(scratch.allocate(100, 8), 'x', 100);
        scratch.reset();
        std::memset(scratch.allocate(100, 8), 'x', 100);
        scratch.release();
    }
}

void child_uses_what_its_parent_has() {
    multi pool;
    auto* const before = static_cast<char*>(pool.allocate(100, 8));
    std::strcpy(before, "parent");
    const pid_t child = fork();
    if (child == 0) {
        std::strcpy(before, "child");
        char* const more = static_cast<char*>(pool.allocate(200, 8));
        std::memset(more, 'x', 200);
        pool.deallocate(more, 200, 8);
        pool.deallocate(before, 100, 8);
        pool.release();
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0);
    expect(std::strcmp(before, "parent") == 0);
    pool.deallocate(before, 100, 8);
}

void threads_hand_blocks_on() {
    in_mode<synchronized_multipool<>> pool;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&pool] {
            for (int i = 0; i < 1000; ++i) {
                auto* const block = static_cast<char*>(pool.allocate(80, 8));
                std::memset(block, 'x', 80);
                if (i % 100 == 0) {
                    std::thread([&] { pool.deallocate(block, 80, 8); }).join();
                } else {
                    pool.deallocate(block, 80, 8);
                }
            }
        });
    }
    for (std::thread& each : threads) each.join();
    pool.release();
}

void each_thread_has_a_pool() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 100; ++i) {
                resource<multi> pool;
                std::pmr::vector<std::pmr::string> texts(&pool);
                for (int k = 0; k < 20; ++k) texts.emplace_back(static_cast<std::size_t>(k * 5), 'x');
            }
        });
    }
    for (std::thread& each : threads) each.join();
}

void blocks_lie_in_the_buffer_that_was_given() {
    alignas(16) static char memory[65536];
    const auto lies_there = [](const void* block) { return block >= memory && block < memory + sizeof memory; };
    in_mode<monotonic<fixed_buffer>> pool(memory, sizeof memory);
    for (int i = 0; i < 20; ++i) expect(lies_there(pool.allocate(100, 8)));
    pool.release();
    in_mode<monotonic<>> other(initial_buffer{memory, sizeof memory});
    for (int i = 0; i < 20; ++i) expect(lies_there(other.allocate(100, 8)));
}

void limits_hold_to_the_block() {
    in_mode<arena> pool(std::size_t{1} << 20);
    std::size_t blocks = 0;
    while (void* const block = pool.try_allocate(1000, 8)) {
        std::memset(block, 'x', 1000);
        ++blocks;
    }
    expect(blocks > 500 && blocks < 1100);
    pool.reset();
    expect(pool.try_allocate(1000, 8) != nullptr);
}

void arrays_are_filled_to_their_limit() {
    dyn_array<int> numbers(5000);
    while (numbers.size() < numbers.max_size()) numbers.push_back(1);
    expect(numbers.back() == 1);
    numbers.clear();
    numbers.shrink_to_fit();
    numbers.push_back(2);
    dyn_array<int> moved(std::move(numbers));
    expect(moved.front() == 2);
    for (int i = 0; i < 100; ++i) {
        dyn_array<long> others;
        others.resize(10000);
        others.back() = 1;
    }
}

sigjmp_buf back_from_fault;
volatile sig_atomic_t faults_seen = 0;
void leave_fault(int) {
    faults_seen = faults_seen + 1;
    siglongjmp(back_from_fault, 1);
}

// A program may have a handler of its own and faults that it expects.
void faults_of_the_program_reach_its_handler() {
    if constexpr (detail::memory_checker) return;  // they have handlers of their own
    struct sigaction own{};
    own.sa_handler = leave_fault;
    sigaction(SIGSEGV, &own, nullptr);
    multi pool;
    pool.deallocate(pool.allocate(24, 8), 24, 8);
    void* const page = mmap(nullptr, os::pages::size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(page != MAP_FAILED);
    if (sigsetjmp(back_from_fault, 1) == 0) poke(hidden(page), 0);
    expect(faults_seen == 1);
    munmap(page, os::pages::size());
}

void blocks_are_read_and_written_by_the_system() {
    multi pool;
    int ends[2];
    expect(pipe(ends) == 0);
    auto* const from = static_cast<char*>(pool.allocate(3000, 8));
    auto* const to = static_cast<char*>(pool.allocate(3000, 8));
    std::memset(from, 'x', 3000);
    expect(write(ends[1], from, 3000) == 3000 && read(ends[0], to, 3000) == 3000);
    expect(std::memcmp(from, to, 3000) == 0);
    pool.deallocate(from, 3000, 8);
    pool.deallocate(to, 3000, 8);
    close(ends[0]);
    close(ends[1]);
}

void pools_over_pools_are_reset_together() {
    in_mode<multipool<monotonic<>>> pool;
    for (int round = 0; round < 50; ++round) {
        for (std::size_t bytes = 1; bytes < 20000; bytes *= 3) std::memset(pool.allocate(bytes, 8), 'x', bytes);
        pool.reset();
    }
}

void absorbed_blocks_live_on() {
    multi pool;
    auto other = std::make_unique<multi>();
    auto* const block = static_cast<char*>(other->allocate(100, 8));
    std::memset(block, 'x', 100);
    pool.absorb(*other);
    other.reset();
    expect(hidden(block)[99] == 'x');
    pool.deallocate(block, 100, 8);
}

void checkpoints_are_nested() {
    in_mode<arena> pool;
    for (int round = 0; round < 200; ++round) {
        const auto outer = pool.checkpoint();
        auto* const kept = static_cast<char*>(pool.allocate(1000, 8));
        std::memset(kept, 'x', 1000);
        for (int i = 0; i < 5; ++i) {
            const auto inner = pool.checkpoint();
            std::memset(pool.allocate(5000, 64), 'y', 5000);
            pool.rewind(inner);
        }
        expect(hidden(kept)[999] == 'x');
        pool.rewind(outer);
    }
}

constexpr program table[] = {
    {"every_byte_of_every_size_and_alignment", every_byte_of_every_size_and_alignment, nullptr, nullptr, nullptr},
    {"blocks_of_many_mib", blocks_of_many_mib, nullptr, nullptr, nullptr},
    {"more_blocks_than_have_pages", more_blocks_than_have_pages, nullptr, nullptr, nullptr},
    {"pools_come_and_go", pools_come_and_go, nullptr, nullptr, nullptr},
    {"child_uses_what_its_parent_has", child_uses_what_its_parent_has, nullptr, nullptr, nullptr},
    {"threads_hand_blocks_on", threads_hand_blocks_on, nullptr, nullptr, nullptr},
    {"each_thread_has_a_pool", each_thread_has_a_pool, nullptr, nullptr, nullptr},
    {"blocks_lie_in_the_buffer_that_was_given", blocks_lie_in_the_buffer_that_was_given, nullptr, nullptr, nullptr},
    {"limits_hold_to_the_block", limits_hold_to_the_block, nullptr, nullptr, nullptr},
    {"arrays_are_filled_to_their_limit", arrays_are_filled_to_their_limit, nullptr, nullptr, nullptr},
    {"faults_of_the_program_reach_its_handler", faults_of_the_program_reach_its_handler, nullptr, nullptr, nullptr},
    {"blocks_are_read_and_written_by_the_system", blocks_are_read_and_written_by_the_system, nullptr, nullptr, nullptr},
    {"pools_over_pools_are_reset_together", pools_over_pools_are_reset_together, nullptr, nullptr, nullptr},
    {"absorbed_blocks_live_on", absorbed_blocks_live_on, nullptr, nullptr, nullptr},
    {"checkpoints_are_nested", checkpoints_are_nested, nullptr, nullptr, nullptr},
};

}  // namespace

std::span<const program> clean_page_programs() { return table; }

}  // namespace millpond::test
