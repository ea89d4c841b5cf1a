// SPDX-License-Identifier: BSL-1.0
// slots, slots_sparse, slots_pairs: very many 8-byte numbers, each in a block of its own, held by an array of pointers.
// After the benchmark of the Counter Tree Library's suballocator (2012), chapter 4.4.
//
//   slots          cold_ns    allocate all                           before_ns  free them from the last to the first
//                  after_ns   free them from the first to the last   warm_ns    free every second one and allocate
//                  resident   at most; end_bytes: everything freed              it again, for each of these
//   slots_sparse   freed in random order, except one in 1000; end_bytes, and the bytes of the pages that the rest touch
//   slots_pairs    `--size` live: free any one, allocate one. after_ns a pair; before_ns: multipool's with 1000 live
//
// The array exists, and is touched, before bytes are counted. The pointers are in the order of allocation.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lab/program/model_page.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "lab/suites/common/slot_array.hpp"
#include "lab/suites/frame/passes.hpp"
#include "node_contenders.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::size_t page_bytes = program::model_page_bytes;
constexpr std::uint64_t kept_of = 1000;  // one in so many stays

using number = std::uint64_t;

template <class C>
class slots : public slot_array<C, number> {
    using base = slot_array<C, number>;
    using base::binding_, base::live_;

  public:
    using allocator = typename base::allocator;

    slots(typename C::pool& pool, std::uint64_t count) : base(pool, count), count_(count) {}

    [[gnu::noinline]] void free_odd_and_back() {
        base::free_odd();
        base::fill_odd();
    }
    [[gnu::noinline]] void free_any_and_back(random_numbers& random, std::uint64_t pairs) {
        const auto count = static_cast<std::uint32_t>(live_.size());
        for (std::uint64_t i = 0; i < pairs; ++i) {
            number*& slot = live_[random.below(count)];
            slot = slot_pair(binding_, slot);
        }
    }
    // The function that --instructions counts.
    [[gnu::noinline]] static number* counted_slot_pair(allocator& binding, number* slot) {
        return slot_pair(binding, slot);
    }
    void count_pairs(random_numbers& random, std::uint64_t pairs) {
        const auto count = static_cast<std::uint32_t>(live_.size());
        for (std::uint64_t i = 0; i < pairs; ++i) {
            number*& slot = live_[random.below(count)];
            slot = counted_slot_pair(binding_, slot);
        }
    }

    // Effects: frees all except one in kept_of, in random order.
    void thin_out(random_numbers& random) {
        for (std::size_t i = live_.size(); i > 1; --i)
            std::swap(live_[i - 1], live_[random.below(static_cast<std::uint32_t>(i))]);
        while (live_.size() > count_ / kept_of) {
            binding_.deallocate(live_.back(), 1);
            live_.pop_back();
        }
    }
    [[nodiscard]] std::uint64_t touched_bytes() const {
        std::vector<std::uintptr_t> pages;
        pages.reserve(live_.size());
        for (const number* slot : live_) pages.push_back(reinterpret_cast<std::uintptr_t>(slot) / page_bytes);
        std::sort(pages.begin(), pages.end());
        return static_cast<std::uint64_t>(std::unique(pages.begin(), pages.end()) - pages.begin()) * page_bytes;
    }

  private:
    [[gnu::always_inline]] static number* slot_pair(allocator& binding, number* slot) {
        binding.deallocate(slot, 1);
        clobber();
        number* const again = binding.allocate(1);
        *again = 1;
        return again;
    }

    std::size_t count_;
};

template <class C>
struct slots_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        const auto count = static_cast<double>(size);
        outcome result;
        typename C::pool pool;
        slots<C> work(pool, size);
        const resident_meter resident;
        stopwatch clock;
        const auto lap = [&clock](auto step) {
            clock.start();
            step();
            return clock.elapsed_ns();
        };
        result.set("cold_ns", lap([&] { work.fill(); }) / count);
        result.checksum = work.sum();
        result.set("before_ns", lap([&] { work.free_from_last(); }) / count);
        work.fill();
        result.set("warm_ns", lap([&] { work.free_odd_and_back(); }) * 2 / count);
        result.set("after_ns", lap([&] { work.free_from_first(); }) / count);
        result.set_count("units", size);
        set_resident(result, resident);
        return result;
    }
};

template <class C>
struct sparse_runner {
    static outcome run(const point& asked) {
        const std::uint64_t size = asked.count("size");
        outcome result;
        typename C::pool pool;
        slots<C> work(pool, size);
        random_numbers random(asked.seed());
        const resident_meter resident;
        work.fill();
        const stopwatch clock;
        work.thin_out(random);
        result.set("warm_ns", clock.elapsed_ns() / static_cast<double>(size));
        set_resident(result, resident);
        result.set_count("touched_bytes", work.touched_bytes());
        result.checksum = work.sum();
        result.set_count("units", size);
        return result;
    }
};

template <class C>
double pair_ns(const point& asked, std::uint64_t live) {
    typename C::pool pool;
    slots<C> work(pool, live);
    work.fill();
    random_numbers random(asked.seed());
    const std::uint64_t pairs = asked.count("units");
    work.free_any_and_back(random, pairs / 8);
    std::vector<double> groups(5);
    for (double& group : groups) {
        const stopwatch clock;
        const std::uint64_t of_group = pairs / groups.size();
        work.free_any_and_back(random, of_group);
        group = clock.elapsed_ns() / static_cast<double>(of_group);
    }
    return frame::median(groups);
}

template <class C>
struct pairs_runner {
    static outcome run(const point& asked) {
        outcome result;
        if (asked.instructions > 0) {
            typename C::pool pool;
            slots<C> work(pool, asked.count("size"));
            work.fill();
            random_numbers random(asked.seed());
            work.count_pairs(random, asked.instructions);
            result.set_count("units", asked.instructions);
            return result;
        }
        const resident_meter resident;
        result.set("before_ns", pair_ns<by_type<multipool<>>>(asked, 1000));
        result.set("after_ns", pair_ns<C>(asked, asked.count("size")));
        result.set_count("units", asked.count("size"));
        set_resident(result, resident);
        return result;
    }
};

std::vector<entry> all_slots() { return entries<slots_runner>(our_slots{}, slot_peers{}); }
std::vector<entry> all_sparse() { return entries<sparse_runner>(our_slots{}, slot_peers{}); }
std::vector<entry> all_pairs() { return entries<pairs_runner>(our_slots{}); }

constexpr parameter parameters[] = {size_parameter(50'000'000, "slots"), seed_parameter};
constexpr parameter pair_parameters[] = {size_parameter(1000, "live slots"), units_parameter(1 << 22), seed_parameter};
constexpr metric slot_metrics[] = {"warm_ns", "cold_ns", "before_ns", "after_ns"};
constexpr metric sparse_metrics[] = {"warm_ns", "touched_bytes"};
constexpr metric pair_metrics[] = {"before_ns", "after_ns"};
constexpr std::string_view counted[] = {"counted_slot_pair"};

}  // namespace

const workload slots_of_numbers = workload_of<all_slots>("slots", "slot", parameters, slot_metrics);
const workload slots_sparse = workload_of<all_sparse>("slots_sparse", "slot", parameters, sparse_metrics);
const workload slots_pairs = workload_of<all_pairs>("slots_pairs", "pair", pair_parameters, pair_metrics, counted);

}  // namespace millpond::library
