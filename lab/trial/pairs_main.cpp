// SPDX-License-Identifier: BSL-1.0
// millpond-pairs: allocates and frees blocks and does nothing else, from malloc or from an allocator of the library.
//
// Run under a plan, and compared with the allocator that the plan stands for, it shows how much more a trial's pools
// cost than the library's (pair_costs.hpp). The two take turns, half a millisecond a slice, so that load on the machine
// affects both.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lab/measure/clocks.hpp"
#include "lab/program/command_line.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "millpond/local/synchronized_multipool.hpp"

namespace millpond::pairs {

constexpr std::size_t batch_most = 512;

class from_malloc {
  public:
    static void* take(std::size_t bytes) noexcept { return std::malloc(bytes); }
    static void give(void* block, std::size_t) noexcept { std::free(block); }
    static void end_batch() noexcept {}
};

template <class Allocator>
class from_library {
  public:
    void* take(std::size_t bytes) noexcept { return allocator_.try_allocate(bytes, 16); }
    void give(void* block, std::size_t bytes) noexcept { allocator_.deallocate(block, bytes, 16); }
    void end_batch() noexcept {
        if constexpr (requires { allocator_.reset(); }) allocator_.reset();
    }

  private:
    Allocator allocator_;
};

// Starts each batch: a pool that reuses blocks is kept; a pool that frees only as a whole is reset.
template <>
inline void from_library<multipool<>>::end_batch() noexcept {}
template <>
inline void from_library<synchronized_multipool<>>::end_batch() noexcept {}

// Allocates and frees batches of blocks of mixed sizes, in another order than they came.
template <class Memory>
class maker {
  public:
    [[gnu::noinline]] std::uint64_t make(std::uint64_t pairs, std::size_t batch) {
        std::uint64_t sum = 0;
        for (std::uint64_t made = 0; made < pairs; made += batch) sum += make_batch(made, batch);
        return sum;
    }

  private:
    // The function whose calls are observed when that is tried.
    [[gnu::noinline]] std::uint64_t make_batch(std::uint64_t made, std::size_t batch) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < batch; ++i) {
            held_[i] = static_cast<std::uint64_t*>(memory_.take(bytes_of(i)));
            if (held_[i] == nullptr) std::abort();
            *held_[i] = made + i;
        }
        for (std::size_t i = 0; i < batch; ++i) {
            const std::size_t other = i * 197 & (batch - 1);  // odd: each once
            sum += *held_[other];
            memory_.give(held_[other], bytes_of(other));
        }
        memory_.end_batch();
        return sum;
    }

    static std::size_t bytes_of(std::size_t i) noexcept { return sizes[i % sizes.size()]; }
    static constexpr std::array<std::size_t, 8> sizes = {24, 48, 64, 32, 96, 40, 160, 72};

    Memory memory_;
    std::array<std::uint64_t*, batch_most> held_;
};

template <class Memory>
std::uint64_t make(std::uint64_t pairs, std::size_t batch) {
    static maker<Memory> made;
    return made.make(pairs, batch);
}

// Returns how many seconds more a pair of malloc takes than one by hand: the median over pairs of slices.
template <class ByHand>
double excess_seconds(std::uint64_t pairs, std::size_t batch) {
    constexpr std::uint64_t slice = 40 * batch_most;
    std::vector<double> found;
    std::uint64_t sum = 0;
    for (std::uint64_t made = 0; made < pairs; made += slice) {
        const double begin = measure::thread_cpu_seconds();
        sum += make<from_malloc>(slice, batch);
        const double middle = measure::thread_cpu_seconds();
        sum += make<ByHand>(slice, batch);
        found.push_back((2 * middle - begin - measure::thread_cpu_seconds()) / static_cast<double>(slice));
    }
    if (sum == 0) std::abort();  // uses the sum, so that the compiler removes nothing
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2), found.end());
    return found[found.size() / 2];
}

template <class Allocator>
void print_by_hand(std::uint64_t pairs, std::size_t batch, bool in_turns) {
    using by_hand = from_library<Allocator>;
    std::array<char, 32> text;
    if (in_turns) {
        const double seconds = excess_seconds<by_hand>(pairs, batch);
        program::print(std::string(text.data(), std::to_chars(text.begin(), text.end(), seconds).ptr) + "\n");
    } else {
        program::print(std::to_string(make<by_hand>(pairs, batch)) + "\n");
    }
}

}  // namespace millpond::pairs

int main(int argc, char** argv) {
    using namespace millpond;
    program::command_line app{"Allocates and frees blocks, and does nothing else.", "millpond-pairs"};
    std::uint64_t count = 0, batch = pairs::batch_most;
    std::string by_hand;
    bool in_turns = false;
    app.option("PAIRS", count, "the number of blocks").required();
    app.option("--by-hand", by_hand, "use this allocator of the library instead of malloc")
        .one_of({"multipool", "synchronized(multipool)", "monotonic"});
    app.option("--batch", batch, "allocate this many before freeing them: 1, 2, 4, … 512");
    app.flag("--in-turns", in_turns, "use both in turns: print how many seconds more a pair of malloc takes");
    return program::guarded_main(app, argc, argv, [&] {
        if (count == 0 || !std::has_single_bit(batch) || batch > pairs::batch_most || (in_turns && by_hand.empty()))
            throw app.refusal("PAIRS must be at least 1, --batch a power of 2, and --in-turns needs --by-hand");
        if (by_hand.empty())
            program::print(std::to_string(pairs::make<pairs::from_malloc>(count, batch)) + "\n");
        else if (by_hand == "multipool")
            pairs::print_by_hand<multipool<>>(count, batch, in_turns);
        else if (by_hand == "monotonic")
            pairs::print_by_hand<monotonic<>>(count, batch, in_turns);
        else
            pairs::print_by_hand<synchronized_multipool<>>(count, batch, in_turns);
        return program::ok;
    });
}
