// SPDX-License-Identifier: BSL-1.0
// freeing_counts: frees and resizes of each subsystem's blocks, by the context in which they happen.
//
//   (context of the free, subsystem of the block) ─▶ frees, resizes
//
// Frees have contexts in recordings made with --frees; resizes (realloc) always have them. A resized block belongs to
// the subsystem that made the first block, because a pool keeps the blocks that it resizes. An addition is one look-up,
// or none if the pair repeats. Memory grows with the number of pairs, and with the live blocks that another subsystem
// has resized. Not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace millpond::characterise {

struct freeing_count {
    std::uint64_t frees = 0, resizes = 0;
};

class freeing_counts {
  public:
    void add_free(std::uint32_t context, std::uint32_t subsystem) { ++at(context, subsystem).frees; }
    void add_resize(std::uint32_t context, std::uint32_t subsystem) { ++at(context, subsystem).resizes; }

    // Notes that the block at an address was made by resizing a block of another subsystem.
    void resized_from(std::uint64_t address, std::uint32_t subsystem) { first_[address] = subsystem; }
    // Returns, at its end, the subsystem that made the block at this address: `last`, unless another one was noted.
    std::uint32_t take_first(std::uint64_t address, std::uint32_t last) {
        if (first_.empty()) [[likely]]
            return last;
        const auto found = first_.find(address);
        if (found == first_.end()) return last;
        const std::uint32_t first = found->second;
        first_.erase(found);
        return first;
    }

    // Calls use(context, subsystem, const freeing_count&) for each pair, in no order.
    template <class Use>
    void for_each(Use&& use) const {
        for (const auto& [pair, count] : counts_)
            use(static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair), count);
    }

  private:
    freeing_count& at(std::uint32_t context, std::uint32_t subsystem) {
        const std::uint64_t pair = std::uint64_t{context} << 32 | subsystem;
        if (last_ == nullptr || pair != last_pair_) {
            last_ = &counts_[pair];
            last_pair_ = pair;
        }
        return *last_;
    }

    std::unordered_map<std::uint64_t, freeing_count> counts_;
    std::unordered_map<std::uint64_t, std::uint32_t> first_;  // by address
    std::uint64_t last_pair_ = 0;
    freeing_count* last_ = nullptr;  // entries of an unordered_map stay where they are
};

}  // namespace millpond::characterise
