// SPDX-License-Identifier: BSL-1.0
// random_sizes: keeps a steady number of bytes live in blocks of random sizes, and compares resident with live bytes.
//
//   fill to 32 MiB ─▶ free any block, allocate until 32 MiB are live again, … ─▶ resident bytes now, and live bytes
//
// `--size` is the largest block; sizes are uniform from 1 on, and every page of a block is written. warm_ns is a block
// freed or allocated, cold_ns one of the first filling. end_bytes less base_bytes is the resident memory for
// touched_bytes, the live bytes. Buffers of messages, images and texts look like this.
// Monotonic contenders reuse nothing: they only fill.
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/frame/passes.hpp"
#include "millpond/os/pages.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint64_t level_bytes = std::uint64_t{32} << 20;
constexpr std::size_t block_alignment = 8;

template <class C>
class random_blocks {
  public:
    random_blocks(std::uint64_t largest, std::uint64_t seed)
        : random_(seed), largest_(static_cast<std::uint32_t>(largest)) {
        blocks_.reserve(std::size_t{1} << 20);
    }
    random_blocks(const random_blocks&) = delete;
    random_blocks& operator=(const random_blocks&) = delete;
    ~random_blocks() {
        while (!blocks_.empty()) give(blocks_.size() - 1);
    }

    // Effects: so many times, frees or allocates to bring the level back. Returns: a checksum of the sizes.
    [[gnu::noinline]] std::uint64_t live(std::uint64_t times) {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < times; ++i) sum = sum * 31 + step();
        return sum;
    }
    [[gnu::noinline]] void fill() {
        while (live_bytes_ < level_bytes) take();
    }

    [[nodiscard]] std::uint64_t live_bytes() const noexcept { return live_bytes_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return blocks_.size(); }

  private:
    struct block {
        unsigned char* start;
        std::uint32_t bytes;
    };

    std::uint32_t step() {
        if (live_bytes_ < level_bytes) return take();
        return give(random_.below(static_cast<std::uint32_t>(blocks_.size())));
    }
    std::uint32_t take() {
        const std::uint32_t bytes = 1 + random_.below(largest_);
        auto* const start = static_cast<unsigned char*>(C::take(C::handle(pool_), bytes, block_alignment));
        for (std::size_t at = 0; at < bytes; at += os::pages::size()) start[at] = 1;
        start[bytes - 1] = 1;
        blocks_.push_back({start, bytes});
        live_bytes_ += bytes;
        return bytes;
    }
    std::uint32_t give(std::size_t at) noexcept {
        const block gone = blocks_[at];
        blocks_[at] = blocks_.back();
        blocks_.pop_back();
        live_bytes_ -= gone.bytes;
        C::give(C::handle(pool_), gone.start, gone.bytes, block_alignment);
        return gone.bytes;
    }

    random_numbers random_;
    std::uint32_t largest_;
    typename C::pool pool_;
    std::vector<block> blocks_;
    std::uint64_t live_bytes_ = 0;
};

template <bool IsReusing>
struct random_sizes_runner {
    template <class C>
    struct of {
        static outcome run(const point& asked) {
            outcome result;
            random_blocks<C> work(asked.count("size"), asked.seed());
            const resident_meter resident;
            const stopwatch clock;
            work.fill();
            result.set("cold_ns", clock.elapsed_ns() / static_cast<double>(work.count()));
            result.checksum = work.count();
            result.set_count("units", work.count());
            if constexpr (IsReusing) {
                const std::uint64_t times = asked.count("units");
                const stopwatch warm_clock;
                static_cast<void>(work.live(times));
                result.set("warm_ns", warm_clock.elapsed_ns() / static_cast<double>(times));
                result.set_count("units", times);
            }
            result.set_count("touched_bytes", work.live_bytes());
            set_resident(result, resident);
            return result;
        }
    };
};

std::vector<entry> all() {
    std::vector<entry> found = entries<random_sizes_runner<true>::of>(
        our_pools{}, contender_list<concurrent_multipool>{}, heap_peers{}, pool_peers{});
    for (const entry& each : entries<random_sizes_runner<false>::of>(our_monotonics{}, monotonic_peers{}))
        found.push_back(each);
    return found;
}

constexpr parameter parameters[] = {size_parameter(60'000, "bytes of the largest block"),
                                    {"units", 1 << 14, 1, many, "blocks freed or allocated"},
                                    seed_parameter};
constexpr metric metrics[] = {"warm_ns", "cold_ns", "touched_bytes"};

}  // namespace

const workload random_sizes = workload_of<all>("random_sizes", "block", parameters, metrics);

}  // namespace millpond::library
