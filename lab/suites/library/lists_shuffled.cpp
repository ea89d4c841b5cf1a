// SPDX-License-Identifier: BSL-1.0
// lists_shuffled: Benchmark II of P0089R0, section 8: what shuffling does to the traversal of many linked lists.
//
//   subsystem 1 │pool│list│─▶ nodes      each list is popped in turn, and the number pushed to a list drawn at random,
//   subsystem 2 │pool│list│─▶ nodes      shuffle_factor × nodes times: numbers move, nodes are freed and allocated
//   …                                    before_ns, after_ns: a node visited, before and after
//
// `--size` nodes a list, 2^21 nodes in all (--scale-units). Lists are traversed access_factor times, one after the
// other. Only as many evenly spaced lists are visited as keep a traversal at about two visits of every node, but at
// least two: with a high access factor a part of the lists says what all would. Without monotonic contenders: what a
// list frees would never be used again. Without the synchronized pools: as many locks as lists.
#include <list>
#include <memory>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/random_numbers.hpp"
#include "passes.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

constexpr std::uint64_t usual_nodes = std::uint64_t{1} << 21;

template <class C>
struct subsystem {
    using list = std::list<int, typename C::template allocator<int>>;
    typename C::pool pool;
    list numbers;

    subsystem() : numbers(C::template bind<int>(pool)) {}
};

template <class List>
[[gnu::noinline]] std::uint64_t sum_of(const List& numbers) {
    std::uint64_t sum = 0;
    for (const int number : numbers) sum += static_cast<std::uint32_t>(number);
    return sum;
}

template <class C>
class many_lists {
  public:
    many_lists(std::uint64_t lists, std::uint64_t nodes_a_list, std::uint64_t seed) : random_(seed) {
        subsystems_.reserve(lists);
        int number = 0;
        for (std::uint64_t i = 0; i < lists; ++i) {
            subsystems_.push_back(std::make_unique<subsystem<C>>());
            for (std::uint64_t n = 0; n < nodes_a_list; ++n) subsystems_.back()->numbers.push_back(++number);
        }
    }

    // Effects: so many moves. What the next moves will need is prefetched, which changes their order in nothing.
    void shuffle(std::uint64_t moves) {
        std::uint32_t targets[window];
        for (std::uint32_t& target : targets) target = draw();
        std::uint64_t from = 0;
        for (std::uint64_t move = 0; move < moves; from = next(from)) {
            auto& popped = subsystems_[from]->numbers;
            if (popped.empty()) continue;
            const int number = popped.front();
            popped.pop_front();
            subsystems_[targets[move % window]]->numbers.push_back(number);
            targets[move % window] = draw();
            prefetch(targets[(move + window - 1) % window], targets[(move + window / 2) % window], from);
            ++move;
        }
    }

    // Effects: visits every `stride`-th list `access_factor` times before the next, the whole `rounds` times.
    // Returns: ns a node visited.
    double traverse(std::uint64_t stride, std::uint64_t access_factor, std::uint64_t rounds) {
        std::uint64_t visited = 0;
        const stopwatch clock;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            for (std::uint64_t i = 0; i < subsystems_.size(); i += stride) {
                const auto& numbers = subsystems_[i]->numbers;
                for (std::uint64_t n = 0; n < access_factor; ++n) {
                    checksum_ += (i + 1) * sum_of(numbers);
                    clobber();  // or the compiler would see that one visit is enough
                }
                visited += numbers.size() * access_factor;
            }
        }
        return clock.elapsed_ns() / static_cast<double>(visited);
    }
    [[nodiscard]] std::uint64_t checksum() const noexcept { return checksum_; }

  private:
    static constexpr std::uint64_t window = 16;

    std::uint32_t draw() { return random_.below(static_cast<std::uint32_t>(subsystems_.size())); }
    std::uint64_t next(std::uint64_t i) const { return i + 1 == subsystems_.size() ? 0 : i + 1; }

    // The list that is pushed to in `window` moves, and the last node of the one that comes up in half as many; and the
    // same of the lists that are popped.
    void prefetch(std::uint32_t far, std::uint32_t near, std::uint64_t from) const {
        __builtin_prefetch(&subsystems_[far]->numbers);
        const auto& soon = subsystems_[near]->numbers;
        if (!soon.empty()) __builtin_prefetch(&soon.back(), 1);
        if (from + window < subsystems_.size()) {
            __builtin_prefetch(&subsystems_[from + window]->numbers);
            const auto& next = subsystems_[from + window / 2]->numbers;
            if (!next.empty()) __builtin_prefetch(&next.front());
        }
    }

    std::uint64_t checksum_ = 0;
    random_numbers random_;
    std::vector<std::unique_ptr<subsystem<C>>> subsystems_;
};

template <class C>
struct runner {
    static outcome run(const cell& asked) {
        const std::uint64_t nodes = asked.scale_units != 0 ? asked.scale_units : usual_nodes;
        const std::uint64_t size = asked.size < nodes ? asked.size : nodes;
        const std::uint64_t lists = nodes / size;
        const std::uint64_t wanted = 2 * nodes / (asked.access_factor * size);
        const std::uint64_t least = lists < 2 ? lists : 2;
        const std::uint64_t chosen = wanted < least ? least : wanted < lists ? wanted : lists;
        const std::uint64_t stride = lists / chosen;
        const std::uint64_t rounds = wanted > lists ? wanted / lists : 1;

        outcome result;
        const resident_meter resident;
        const stopwatch clock;
        {
            many_lists<C> numbers(lists, size, asked.seed);
            result.cold_ns = clock.elapsed_ns() / static_cast<double>(nodes);
            result.before_ns = numbers.traverse(stride, asked.access_factor, rounds);
            numbers.shuffle(asked.shuffle_factor * nodes);
            result.after_ns = numbers.traverse(stride, asked.access_factor, rounds);
            result.checksum = numbers.checksum();
        }
        result.units = rounds * chosen * size * asked.access_factor;
        resident.finish(result);
        return result;
    }
};

#if !defined(MILLPOND_HARDENED)
struct ideal_node_pool : by_type<ideal_nodes> {
    static constexpr std::string_view name = "ideal_free_list";
};
using list_pools = contender_list<pmr_pool, old_multipool, foreign_pool>;
using list_ideals = contender_list<ideal_node_pool>;
#if defined(MILLPOND_SUITE_BOOST)
using list_boost = contender_list<boost_pool>;
#else
using list_boost = contender_list<>;
#endif
#else
using list_pools = contender_list<>;
using list_ideals = contender_list<>;
using list_boost = contender_list<>;
#endif

std::vector<entry> all() {
    return entries<runner>(our_pools{}, heap_peers{}, node_peers{}, list_pools{}, list_boost{}, list_ideals{});
}

}  // namespace

const workload lists_shuffled{"lists_shuffled", "node", "nodes a list", {1 << 16, 1 << 4, 1 << 8, 1 << 12, 1 << 20},
                              {"af", "sf"},     all};

}  // namespace millpond::suites
