// SPDX-License-Identifier: BSL-1.0
// unique_characters: counts the different characters of a string by a std::set, a fresh one for each string.
//
//   10 240 bytes of stack │set│node│node│node│…      monotonic contenders begin there, and go upstream when it is full
//
// After the talk "Understanding Allocator Impact on Runtime Performance". `--size` characters a string, any of the 256.
// Every contender that can is winked out: the set lies in the pool, and its destructor does not run. A unit is a
// string.
#include <algorithm>
#include <set>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/unique_characters.hpp"
#include "lab/suites/frame/passes.hpp"
#include "workload.hpp"

namespace millpond::library {
namespace {

constexpr std::uint64_t usual_characters = std::uint64_t{1} << 20;

template <class C>
class counting_pass final : public frame::pass {
  public:
    counting_pass(std::uint64_t size, std::uint64_t seed) : texts_(size, seed) {}

    std::uint64_t repeat(std::uint64_t repetitions) override {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < repetitions; ++i) {
            sum = 0;
            for (std::uint64_t at = 0; at < texts_.size(); ++at) sum += count_different<C, set, ending>(texts_[at]);
        }
        return sum;
    }
    [[nodiscard]] std::uint64_t strings() const noexcept { return texts_.size(); }

  private:
    using set = std::set<char, std::less<char>, typename C::template allocator<char>>;
    static constexpr set_ending ending = C::can_wink ? set_ending::wink_in_pool : set_ending::destroy;

    character_strings texts_;
};

template <class C>
struct characters_runner {
    static outcome run(const point& asked) {
        const std::uint64_t length = asked.count("size");
        counting_pass<C> work(length, asked.seed());
        const std::uint64_t usual = std::max<std::uint64_t>(1, usual_characters / length);
        const std::uint64_t units = asked.count("units");
        return measure_passes(work, work.strings(), units != 0 ? units : usual);
    }
};

std::vector<entry> all() {
    return entries<characters_runner>(our_pools{}, our_monotonics{}, heap_peers{}, node_peers{}, pool_peers{},
                                      monotonic_peers{}, ideals{});
}

constexpr parameter parameters[] = {
    size_parameter(16, "characters of a string"),
    {"units", 0, 0, many, "about so many strings in all warm passes; 0: as many as have 2^20 characters"},
    seed_parameter,
};

}  // namespace

const workload unique_characters = workload_of<all>("unique_characters", "string", parameters, metrics_of_passes);

}  // namespace millpond::library
