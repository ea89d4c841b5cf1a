// SPDX-License-Identifier: BSL-1.0
// unique_characters: how many different characters a string has, by a std::set of them, a fresh one for each string.
//
//   10 240 bytes of stack │set│node│node│node│…      monotonic contenders begin there; upstream where it is full
//
// After the talk "Understanding Allocator Impact on Runtime Performance". `--size` characters a string, any of the 256.
// Every contender that can is winked out: the set lies in the pool, and its destructor does not run. A unit is a
// string.
#include <algorithm>
#include <new>
#include <set>
#include <string_view>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/unique_characters.hpp"
#include "passes.hpp"
#include "workload.hpp"

namespace millpond::suites {
namespace {

template <class C>
class counting final : public pass {
  public:
    counting(std::uint64_t size, std::uint64_t seed) : texts_(size, seed) {}

    std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < repetitions; ++i) {
            sum = 0;
            for (std::uint64_t at = 0; at < texts_.size(); ++at) sum += count(texts_[at]);
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t strings() const noexcept { return texts_.size(); }

  private:
    using set = std::set<char, std::less<char>, typename C::template allocator<char>>;

    [[gnu::noinline]] static std::uint64_t count(std::string_view text) {
        return with_fresh_pool<C>([&](typename C::pool& pool) { return count_in(pool, text); });
    }

    static std::uint64_t count_in(typename C::pool& pool, std::string_view text) {
        if constexpr (C::can_wink) {
            void* const place = C::take(C::handle(pool), sizeof(set), alignof(set));
            set& found = *::new (place) set(C::template bind<char>(pool));
            found.insert(text.begin(), text.end());
            return found.size();
        } else {
            set found(C::template bind<char>(pool));
            found.insert(text.begin(), text.end());
            return found.size();
        }
    }

    character_strings texts_;
};

template <class C>
struct runner {
    static outcome run(const cell& asked) {
        counting<C> work(asked.size, asked.seed);
        constexpr std::uint64_t usual_characters = std::uint64_t{1} << 20;
        const std::uint64_t usual = std::max<std::uint64_t>(1, usual_characters / asked.size);
        return measure(work, work.strings(), asked.scale_units != 0 ? asked.scale_units : usual);
    }
};

std::vector<entry> all() {
    return entries<runner>(our_pools{}, our_monotonics{}, heap_peers{}, node_peers{}, pool_peers{}, monotonic_peers{},
                           ideals{});
}

}  // namespace

const workload unique_characters{"unique_characters", "string", "characters", {16, 64, 256}, {}, all};

}  // namespace millpond::suites
