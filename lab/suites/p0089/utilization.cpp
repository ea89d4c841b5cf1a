// SPDX-License-Identifier: BSL-1.0
// utilization: Benchmark III of P0089R0, section 9: T bytes allocated in all, of which A are in use at once.
//
//   fill: A / S blocks  │S│S│S│S│      then (T − A) / S times: free one, allocate one │S│S│ │S│      free the rest
//
// The first byte of each block is incremented. The block to free is the oldest (fifo, as in the paper), the newest
// (lifo), or a random one. Blocks have S bytes (fixed, as in the paper), or S / 2 to S, drawn from the seed beforehand
// (mixed).
#include <algorithm>
#include <vector>

#include "blocks.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/frame/window.hpp"
#include "pools.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

enum order { fifo, lifo, random_order };
constexpr std::string_view orders[] = {"fifo", "lifo", "random"};
constexpr std::string_view kinds_of_sizes[] = {"fixed", "mixed"};

constexpr parameter parameters[] = {
    {"log2_t", 30, 0, 40, "bytes allocated in all, T"},
    {"log2_a", 15, 0, 34, "bytes in use at most, A"},
    {"log2_s", 10, 0, 30, "bytes of a block, S"},
    {"order", fifo, 0, 2, "which block is freed: the oldest, the newest, any", orders},
    {"sizes", 0, 0, 1, "of the blocks: S, or S/2 to S", kinds_of_sizes},
    frame::seed_parameter,
};

class size_cycle {
  public:
    explicit size_cycle(const point& asked) : sizes_(asked["sizes"] == 0 ? 1 : std::size_t{1} << 16) {
        const auto most = static_cast<std::uint32_t>(asked.power("log2_s"));
        suites::random_numbers random(asked.seed() + 1);
        for (std::uint32_t& size : sizes_) size = sizes_.size() == 1 ? most : most / 2 + random.below(most / 2 + 1);
        for (std::uint32_t& size : sizes_) size = std::max(size, std::uint32_t{1});
    }
    std::uint32_t next() noexcept { return sizes_[at_++ & (sizes_.size() - 1)]; }

  private:
    std::vector<std::uint32_t> sizes_;
    std::size_t at_ = 0;
};

template <class C>
class churn {
  public:
    explicit churn(const point& asked)
        : order_(static_cast<order>(asked["order"])),
          random_(asked.seed()),
          sizes_(asked),
          live_(asked.power("log2_a") / asked.power("log2_s")) {}
    churn(const churn&) = delete;
    churn& operator=(const churn&) = delete;
    ~churn() { empty(); }  // only if memory ran out

    [[gnu::noinline]] void fill() {
        for (block& each : live_) take(each);
    }
    [[gnu::noinline]] void replace(std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) {
            block& chosen = live_[next_place()];
            give(chosen);
            suites::clobber();
            take(chosen);
        }
    }
    void empty() noexcept {
        for (block& each : live_) give(each);
    }
    // Returns: a sum that depends on the sizes in use at each place at the end.
    [[nodiscard]] std::uint64_t checksum() const noexcept {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < live_.size(); ++i) sum += (i + 1) * live_[i].bytes;
        return sum;
    }

  private:
    struct block {
        void* memory = nullptr;
        std::uint64_t bytes = 0;
    };

    std::size_t next_place() noexcept {
        if (order_ == lifo) return live_.size() - 1;
        if (order_ == random_order) return random_.below(static_cast<std::uint32_t>(live_.size()));
        if (at_ == live_.size()) at_ = 0;
        return at_++;
    }
    void take(block& to) {
        const std::uint32_t bytes = sizes_.next();
        to.memory = take_block<C>(C::handle(pool_), bytes);
        to.bytes = bytes;
    }
    void give(block& from) noexcept {
        if (from.memory == nullptr) return;
        C::give(C::handle(pool_), std::exchange(from.memory, nullptr), from.bytes, block_alignment);
    }

    order order_;
    suites::random_numbers random_;
    size_cycle sizes_;
    typename C::pool pool_;
    std::vector<block> live_;
    std::size_t at_ = 0;
};

template <class C>
struct utilization_runner {
    static outcome run(const point& asked) {
        outcome result;
        const std::uint64_t blocks = asked.power("log2_t") / asked.power("log2_s");
        const std::uint64_t live = asked.power("log2_a") / asked.power("log2_s");
        frame::window measured;
        measured.run(result, [&] {
            churn<C> work(asked);
            work.fill();
            work.replace(blocks - live);
            work.empty();
            result.checksum = work.checksum() + blocks;
        });
        result.set_count("units", blocks);
        return result;
    }
};

outcome run(const point& asked) { return chosen<utilization_runner>(by(asked))(asked); }

std::string misfit(const point& asked) {
    if (asked["log2_s"] > asked["log2_a"]) return "log2_s must not be above log2_a: at least one block is in use";
    if (asked["log2_a"] > asked["log2_t"]) return "log2_a must not be above log2_t: in use is what was allocated";
    if (asked["log2_a"] - asked["log2_s"] > 31) return "log2_a is at most log2_s and 31";
    return {};
}

std::uint64_t least_bytes(const point& asked) {
    const bool needs_all = is_never_reused(by(asked).pool, asked.power("log2_s"));
    const std::uint64_t bytes = asked.power(needs_all ? "log2_t" : "log2_a");
    return asked["sizes"] == 0 ? bytes : bytes / 2;
}

}  // namespace

const workload utilization{.name = "utilization",
                           .unit = "block",
                           .parameters = parameters,
                           .takes = takes_what_destroys,
                           .run = run,
                           .misfit = misfit,
                           .least_bytes = least_bytes};

}  // namespace millpond::p0089
