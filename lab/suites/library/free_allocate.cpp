// SPDX-License-Identifier: BSL-1.0
// free_allocate and size_sweep: Benchmark III of P0089R0, section 9: free a block, allocate one of the same size.
//
//   live │a│b│c│d│…│z│      free a, allocate a', free b, allocate b', …: always the oldest block
//
// free_allocate: one size, 1 MiB of live blocks. size_sweep: every size from 16 B to 1 MiB, eight an octave and some
// odd ones, each with a fresh pool and four live blocks, so that the processor's caches do not add to a step between
// sizes. Only the first word of a block is touched. A size is known when the loop starts, not when it is compiled.
// --instructions counts one pair of one 64-byte block: pair_type_binding or pair_base_binding, as the contender binds.
// Without monotonic contenders, which reuse nothing, and without fast_pool, whose pools serve one type's size.
#include <algorithm>
#include <array>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint64_t live_bytes = std::uint64_t{1} << 20;

// Frees and allocates. Blocks are aligned to 16 if their size is a multiple of 16, otherwise to 8.
template <class C>
class pairs final : public frame::pass {
  public:
    pairs(std::uint64_t bytes, std::uint64_t live) : bytes_(bytes), blocks_(live) {
        for (void*& block : blocks_) {
            block = C::take(C::handle(pool_), bytes_, is_even() ? 16 : 8);
            touch(block);
        }
    }
    pairs(const pairs&) = delete;
    pairs& operator=(const pairs&) = delete;
    ~pairs() override {
        for (void* block : blocks_) C::give(C::handle(pool_), block, bytes_, is_even() ? 16 : 8);
    }

    std::uint64_t repeat(std::uint64_t repetitions) override {
        is_even() ? repeat_aligned<16>(repetitions) : repeat_aligned<8>(repetitions);
        return bytes_ * repetitions;
    }

  private:
    static void touch(void* block) noexcept { *static_cast<volatile std::uint64_t*>(block) = 1; }
    [[nodiscard]] bool is_even() const noexcept { return bytes_ % 16 == 0; }

    template <std::size_t Alignment>
    [[gnu::noinline]] void repeat_aligned(std::uint64_t repetitions) {
        const auto from = C::handle(pool_);
        void** const begin = blocks_.data();
        void** const end = begin + blocks_.size();
        void** at = begin;
        for (std::uint64_t i = 0; i < repetitions; ++i) {
            const std::size_t bytes = hidden(bytes_);
            C::give(from, *at, bytes, Alignment);
            clobber();
            *at = C::take(from, bytes, Alignment);
            touch(*at);
            if (++at == end) at = begin;
        }
    }

    std::size_t bytes_;
    typename C::pool pool_;
    std::vector<void*> blocks_;
};

struct alignas(8) block_64 {
    unsigned char bytes[64];
};

// The counted function: exactly one pair, through the standard allocator that a container would have.
template <class C>
[[gnu::noinline]] block_64* pair_type_binding(typename C::template allocator<block_64>& binding, block_64* block) {
    binding.deallocate(block, 1);
    clobber();
    return binding.allocate(1);
}
template <class C>
[[gnu::noinline]] block_64* pair_base_binding(typename C::template allocator<block_64>& binding, block_64* block) {
    binding.deallocate(block, 1);
    clobber();
    return binding.allocate(1);
}

template <class C>
constexpr bool binds_by_base =
    std::is_pointer_v<decltype(C::handle(std::declval<typename C::pool&>()))> &&
    !std::is_same_v<decltype(C::handle(std::declval<typename C::pool&>())), typename C::pool*>;

template <class C>
outcome count_pairs(std::uint64_t times) {
    typename C::pool pool;
    auto binding = C::template bind<block_64>(pool);
    std::array<block_64*, 4> live{};
    for (block_64*& block : live) block = binding.allocate(1);
    block_64* block = live[0];
    for (std::uint64_t i = 0; i < times; ++i) {
        if constexpr (binds_by_base<C>) {
            block = pair_base_binding<C>(binding, block);
        } else {
            block = pair_type_binding<C>(binding, block);
        }
    }
    live[0] = block;
    for (block_64* each : live) binding.deallocate(each, 1);
    outcome result;
    result.set_count("units", times);
    return result;
}

template <class C>
struct pair_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        if (asked.instructions > 0) return count_pairs<C>(asked.instructions);
        const std::uint64_t live = std::max<std::uint64_t>(1, live_bytes / size);
        outcome result;
        const resident_meter resident;
        const stopwatch clock;
        pairs<C> work(size, live);
        result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(live));
        result.checksum = work.repeat(live);
        measure_groups(work, 1, asked.count("units"), result);
        set_resident(result, resident);
        return result;
    }
};

std::vector<std::uint64_t> swept_sizes() {
    std::vector<std::uint64_t> sizes = {24, 40, 100, 200, 1000, 4097, 33000, 100000, std::uint64_t{1} << 20};
    for (std::uint64_t octave = 16; octave < std::uint64_t{1} << 20; octave *= 2) {
        for (std::uint64_t eighth = 0; eighth < 8; ++eighth) sizes.push_back(octave + octave / 8 * eighth);
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

// ns a pair of one size: the median of three groups that take a few milliseconds at most.
template <class C>
double step_of(std::uint64_t bytes, std::uint64_t pairs_a_group) {
    constexpr double longest_group_ns = 2e6;
    pairs<C> work(bytes, 4);
    work.repeat(64);
    stopwatch clock;
    work.repeat(256);
    const double each = std::max(clock.elapsed_ns() / 256, 0.5);
    const auto repetitions = std::min(pairs_a_group, static_cast<std::uint64_t>(longest_group_ns / each) + 1);
    std::array<double, 3> groups{};
    for (double& group : groups) {
        clock.start();
        work.repeat(repetitions);
        group = clock.elapsed_ns() / static_cast<double>(repetitions);
    }
    return frame::median(groups);
}

template <class C>
struct sweep_runner {
    static outcome run(const point& asked) {
        const std::vector<std::uint64_t> sizes = swept_sizes();
        const std::uint64_t wanted = asked.count("units");
        const std::uint64_t pairs_a_group = std::max<std::uint64_t>(1, wanted / (3 * sizes.size()));
        outcome result;
        const resident_meter resident;
        std::vector<double> all;
        for (const std::uint64_t size : sizes) {
            const double ns = step_of<C>(size, pairs_a_group);
            result.set("step_ns:" + std::to_string(size), ns);
            all.push_back(ns);
            result.checksum += size;
        }
        result.set_count("units", 3 * pairs_a_group * sizes.size());
        result.set("warm_ns", frame::median(all));
        set_resident(result, resident);
        return result;
    }
};

template <template <class> class Runner>
std::vector<entry> all() {
    return entries<Runner>(our_pools{}, heap_peers{}, pool_peers{}, local_ideals{});
}

constexpr parameter pair_parameters[] = {size_parameter(1 << 10, "bytes a block"), units_parameter(1 << 22),
                                         seed_parameter};
constexpr parameter sweep_parameters[] = {units_parameter(1 << 24), seed_parameter};
constexpr metric sweep_metrics[] = {"warm_ns", {"step_ns", "ns", "size"}};
constexpr std::string_view counted[] = {"pair_type_binding", "pair_base_binding"};

}  // namespace

const workload free_allocate =
    workload_of<all<pair_runner>>("free_allocate", "pair", pair_parameters, metrics_of_passes, counted);
const workload size_sweep = workload_of<all<sweep_runner>>("size_sweep", "pair", sweep_parameters, sweep_metrics);

}  // namespace millpond::library
