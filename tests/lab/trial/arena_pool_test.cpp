// SPDX-License-Identifier: BSL-1.0
// arena_pool: a signal handler allocates and frees between any two instructions of its thread's own operation.
//
//   take_at_hand │ 0 │ 1 │ … │ at │                          │ the rest │
//                                 │ the handler takes, frees │
//
// The processor traps behind each instruction (x86-64 and Linux), so every place is tried, in every run.
#include "lab/trial/arena_pool.hpp"

#include <gtest/gtest.h>

#include <ucontext.h>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "millpond/core/detail/sanitizer.hpp"

namespace millpond::trial {
namespace {

all_pool_counters counters{};

// Runs an operation, and runs `act` in a signal handler after instruction number `at` of the operation.
class interrupted {
  public:
    interrupted() {
        struct sigaction action{};
        action.sa_sigaction = &trapped;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGTRAP, &action, &before_);
    }
    interrupted(const interrupted&) = delete;
    interrupted& operator=(const interrupted&) = delete;
    ~interrupted() { sigaction(SIGTRAP, &before_, nullptr); }

    // Returns: false if the operation has fewer instructions.
    template <class Operation>
    [[nodiscard]] bool run(std::size_t at, Operation operation, const std::function<void()>& act) {
        at_ = at;
        passed_ = 0;
        act_ = &act;
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag);
        operation();
        __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~trap_flag);
        return passed_ > at;
    }

  private:
    static constexpr unsigned long long trap_flag = 0x100;

    static void trapped(int, siginfo_t*, void* machine) {
        const std::size_t number = passed_;
        passed_ = number + 1;
        if (number != at_) return;
        (*act_)();
        static_cast<ucontext_t*>(machine)->uc_mcontext.gregs[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
    }

    static inline volatile std::size_t at_ = 0, passed_ = 0;
    static inline const std::function<void()>* act_ = nullptr;
    struct sigaction before_{};
};

class arenas : public ::testing::Test {
  protected:
    static constexpr std::uint16_t id = 3;
    static constexpr std::uintptr_t no_stack = 0;

    void SetUp() override {
        if (detail::address_sanitizer) GTEST_SKIP() << "a sanitizer's own code is stepped through";
        static const bool is_started = thread_caches::start(all_pool_counters::pools_max, &counters);
        ASSERT_TRUE(is_started);
        ASSERT_TRUE(space_.map.place(std::size_t{1} << 32));
        pool_.emplace(space_, id, false, pool_kind::arenas, counters.pools + id);
    }
    void TearDown() override {
        if (!pool_) return;
        pool_->end_thread(self());
        pool_.reset();
        space_.map.unmap();
    }
    static arena_pool::thread_id self() { return preload::slab_space::this_thread(); }
    static arena_pool::thread_id owner() { return 64; }

    // Allocates as the router does: from the chunk at hand, otherwise the long way.
    void* take(std::size_t bytes) {
        void* const p = arena_pool::take_at_hand(id, bytes, no_stack);
        return p != nullptr ? p : pool_->allocate(bytes, 16, owner(), no_stack);
    }
    void give(void* p) {
        if (!arena_pool::put_at_hand(space_, space_.map.number_of(p), owner(), no_stack))
            pool_->deallocate(p, space_.map.owner_of(p), owner(), no_stack);
    }
    // Fills the block, if there is one. Null: an interrupted arena gives none.
    void keep(void* p, std::size_t bytes) {
        if (p == nullptr) return;
        const auto fill = static_cast<unsigned char>(++filled_);
        ASSERT_GE(pool_->usable_bytes(p, space_.map.owner_of(p)), bytes);
        std::memset(p, fill, bytes);
        ASSERT_TRUE(live_.emplace(static_cast<unsigned char*>(p), std::pair(bytes, fill)).second) << "given twice";
    }
    void expect_whole() {
        const unsigned char* end = nullptr;
        for (const auto& [p, its] : live_) {
            ASSERT_GE(p, end) << "blocks overlap";
            end = p + its.first;
            for (std::size_t i = 0; i < its.first; ++i) ASSERT_EQ(p[i], its.second);
        }
    }
    void free_all() {
        for (const auto& [p, its] : live_) give(p);
        live_.clear();
    }

    preload::slab_space space_;
    std::optional<arena_pool> pool_;
    std::map<unsigned char*, std::pair<std::size_t, unsigned char>> live_;
    unsigned filled_ = 0;
};

TEST_F(arenas, give_a_handler_and_interrupted_code_different_blocks) {
    interrupted steps;
    std::mt19937 random(17);
    // Positions of the arena when it is interrupted: at a chunk's begin, inside it, and where another chunk is needed.
    for (const std::size_t before : {0u, 32u, 64'600u, 64'800u}) {
        bool goes_on = true;
        // Every place of the usual case, every fifth of the long way.
        for (std::size_t at = 0; goes_on; at += at < 150 ? 1 : 5) {
            if (before != 0) keep(take(before), before);
            const std::size_t bytes = 1 + random() % 200, others = 1 + random() % 300;
            void *own = nullptr, *first = nullptr, *second = nullptr;
            goes_on = steps.run(
                at, [&] { own = take(bytes); },
                [&] {
                    if (at % 2 == 1 && !live_.empty()) {  // the last live block, except the one that is being taken
                        give(live_.begin()->first);
                        live_.clear();
                    }
                    first = take(others);
                    second = take(4000);
                    if (first != nullptr && at % 3 == 0) {
                        give(first);
                        first = nullptr;
                    }
                });
            keep(own, bytes);
            keep(first, others);
            keep(second, 4000);
            expect_whole();
            if (HasFatalFailure()) return;
            free_all();
        }
    }
}

TEST_F(arenas, lose_no_free_of_a_handler_or_of_interrupted_code) {
    interrupted steps;
    bool goes_on = true;
    for (std::size_t at = 0; goes_on; ++at) {
        void* const own = take(48);
        void* const of_handler = take(64);
        void* taken = nullptr;
        ASSERT_NE(own, nullptr);
        goes_on = steps.run(
            at, [&] { give(own); },
            [&] {
                give(of_handler);
                taken = take(80);
            });
        if (!goes_on) give(of_handler);
        keep(taken, 80);
        expect_whole();
        free_all();
        // Empty, so it is reset by the next block that comes and goes, and begins where it began.
        give(take(16));
        void* const again = take(16);
        give(again);
        static void* const begin = again;
        ASSERT_EQ(again, begin) << "behind instruction " << at;
    }
}

TEST_F(arenas, serve_as_many_as_an_ordinary_sequence_asks) {
    std::mt19937 random(5);
    for (unsigned i = 0; i < 20'000; ++i) {
        if (random() % 3 != 0 || live_.empty()) {
            const std::size_t bytes = 1 + random() % 500;
            void* const p = take(bytes);
            ASSERT_NE(p, nullptr);
            keep(p, bytes);
        } else {
            auto its = live_.lower_bound(live_.begin()->first + random() % 100'000);
            if (its == live_.end()) its = live_.begin();
            give(its->first);
            live_.erase(its);
        }
        if (i % 1000 == 0) expect_whole();
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace millpond::trial
