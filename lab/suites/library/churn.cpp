// SPDX-License-Identifier: BSL-1.0
// churn_fifo and churn_random: keep many live blocks of mixed small sizes; free one, allocate another, and so on.
//
//   slots │p, bytes│p, bytes│p, bytes│ … │      fifo: the oldest block goes;  random: any block
//
// `--size` blocks are live, of 16 to 128 bytes in steps of eight, drawn for each allocation. Only the first word is
// touched. A unit is a pair; cold_ns is an allocation of the first filling. Queues and caches in long-running programs
// look like this. Without monotonic contenders, which reuse nothing, and without fast_pool, whose pools serve one
// type's size.
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint32_t size_steps = 15;
constexpr std::size_t block_alignment = 8;

// Sizes in eights of bytes, drawn before anything is measured.
class size_cycle {
  public:
    explicit size_cycle(std::uint64_t seed) : eighths_(std::size_t{1} << 16) {
        random_numbers random(seed);
        for (std::uint8_t& size : eighths_) size = static_cast<std::uint8_t>(2 + random.below(size_steps));
    }
    std::uint8_t next() noexcept { return eighths_[at_++ & 0xffff]; }

  private:
    std::vector<std::uint8_t> eighths_;
    std::size_t at_ = 0;
};

template <class C, bool IsRandom>
class churn final : public frame::pass {
  public:
    churn(std::uint64_t live, std::uint64_t seed)
        : random_(seed), sizes_(seed), blocks_(live, nullptr), eighths_(live, 0) {}
    churn(const churn&) = delete;
    churn& operator=(const churn&) = delete;
    ~churn() override {
        for (std::size_t i = 0; i < blocks_.size(); ++i) give(i);
    }

    void fill() {
        for (std::size_t i = 0; i < blocks_.size(); ++i) take(i);
    }

    [[gnu::noinline]] std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t n = 0; n < repetitions; ++n) {
            const std::size_t slot = next_slot();
            sum += *static_cast<std::uint64_t*>(blocks_[slot]);
            give(slot);
            clobber();
            take(slot);
        }
        return sum;
    }

  private:
    std::size_t next_slot() noexcept {
        if constexpr (IsRandom) return random_.below(static_cast<std::uint32_t>(blocks_.size()));
        if (at_ == blocks_.size()) at_ = 0;
        return at_++;
    }

    void take(std::size_t slot) {
        eighths_[slot] = sizes_.next();
        const std::size_t bytes = std::size_t{eighths_[slot]} * 8;
        blocks_[slot] = C::take(C::handle(pool_), bytes, block_alignment);
        *static_cast<std::uint64_t*>(blocks_[slot]) = bytes;
    }
    void give(std::size_t slot) noexcept {
        if (blocks_[slot] == nullptr) return;  // memory ran out while filling
        const std::size_t bytes = std::size_t{eighths_[slot]} * 8;
        C::give(C::handle(pool_), blocks_[slot], bytes, block_alignment);
        blocks_[slot] = nullptr;
    }

    random_numbers random_;
    size_cycle sizes_;
    typename C::pool pool_;
    std::vector<void*> blocks_;
    std::vector<std::uint8_t> eighths_;
    std::size_t at_ = 0;
};

template <bool IsRandom>
struct churn_runner {
    template <class C>
    struct of {
        static outcome run(const point& asked) {
            const std::uint64_t size = asked.count("size");
            outcome result;
            auto work = std::make_unique<churn<C, IsRandom>>(size, asked.seed());
            const resident_meter resident;
            const stopwatch clock;
            work->fill();
            result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(size));
            const std::uint64_t pairs = asked.count("units");
            result.checksum = work->repeat(pairs < 64 ? pairs : pairs / 8);
            measure_groups(*work, 1, pairs, result);
            work.reset();
            set_resident(result, resident);
            return result;
        }
    };
};

template <bool IsRandom>
std::vector<entry> all() {
    return entries<churn_runner<IsRandom>::template of>(our_pools{}, heap_peers{}, pool_peers{}, local_ideals{});
}

constexpr parameter parameters[] = {size_parameter(1'000'000, "live blocks"), units_parameter(1 << 21), seed_parameter};

}  // namespace

const workload churn_fifo = workload_of<all<false>>("churn_fifo", "pair", parameters, metrics_of_passes);
const workload churn_random = workload_of<all<true>>("churn_random", "pair", parameters, metrics_of_passes);

}  // namespace millpond::library
