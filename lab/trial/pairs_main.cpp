// SPDX-License-Identifier: BSL-1.0
// millpond-pairs: allocates and frees blocks and does nothing else, from malloc or from an allocator of the library.
//
// Tried under a plan and compared with the allocator that the plan stands for, it says what a trial's pools cost more
// than the library's (pair_costs.hpp).
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lab/program/command_line.hpp"
#include "millpond/local/monotonic.hpp"
#include "millpond/local/multipool.hpp"
#include "millpond/local/synchronized_multipool.hpp"

namespace millpond::pairs {

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

// A pool whose blocks are used again keeps them; one that only ends as a whole begins again.
template <>
inline void from_library<multipool<>>::end_batch() noexcept {}
template <>
inline void from_library<synchronized_multipool<>>::end_batch() noexcept {}

// Batches of blocks of mixed sizes, freed in another order than they came.
template <class Memory>
class maker {
  public:
    [[gnu::noinline]] std::uint64_t make(std::uint64_t pairs) {
        std::uint64_t sum = 0;
        for (std::uint64_t made = 0; made < pairs; made += batch) sum += make_batch(made);
        return sum;
    }

  private:
    // The scope whose calls are observed where that is tried.
    [[gnu::noinline]] std::uint64_t make_batch(std::uint64_t made) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < batch; ++i) {
            held_[i] = static_cast<std::uint64_t*>(memory_.take(bytes_of(i)));
            if (held_[i] == nullptr) std::abort();
            *held_[i] = made + i;
        }
        for (std::size_t i = 0; i < batch; ++i) {
            const std::size_t other = i * 197 % batch;  // odd: each once
            sum += *held_[other];
            memory_.give(held_[other], bytes_of(other));
        }
        memory_.end_batch();
        return sum;
    }

    static constexpr std::size_t batch = 512;
    static std::size_t bytes_of(std::size_t i) noexcept { return sizes[i % sizes.size()]; }
    static constexpr std::array<std::size_t, 8> sizes = {24, 48, 64, 32, 96, 40, 160, 72};

    Memory memory_;
    std::array<std::uint64_t*, batch> held_;
};

template <class Memory>
std::uint64_t make(std::uint64_t pairs) {
    static maker<Memory> made;
    return made.make(pairs);
}

}  // namespace millpond::pairs

int main(int argc, char** argv) {
    using namespace millpond;
    program::command_line app{"Allocates and frees blocks, and does nothing else.", "millpond-pairs"};
    std::uint64_t count = 0;
    std::string by_hand;
    app.option("PAIRS", count, "how many blocks").required();
    app.option("--by-hand", by_hand, "from this allocator of the library, not from malloc")
        .one_of({"multipool", "synchronized(multipool)", "monotonic"});
    return program::guarded_main(app, argc, argv, [&] {
        const std::uint64_t sum = by_hand.empty()          ? pairs::make<pairs::from_malloc>(count)
                                  : by_hand == "multipool" ? pairs::make<pairs::from_library<multipool<>>>(count)
                                  : by_hand == "monotonic"
                                      ? pairs::make<pairs::from_library<monotonic<>>>(count)
                                      : pairs::make<pairs::from_library<synchronized_multipool<>>>(count);
        program::print(std::to_string(sum) + "\n");
        return program::ok;
    });
}
