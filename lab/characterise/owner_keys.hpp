// SPDX-License-Identifier: BSL-1.0
// owner_keys: finds, for each call site of an allocation, the word that tells which instance the object belongs to.
//
//   list::push_back, 4 samples   rbx  0x7f10 0x7f58 0x7f10 0x7f58   2 values, addresses of live objects   ◀ the owner
//                                r12  0x5510 0x5530 0x5550 0x5570   4 values: no two objects have the same
//                                rbp  0x9000 0x9000 0x9000 0x9000   1 value: the same for all
//
// Samples are notes of words (mpt_note_word) that `millpond-record --owners` writes. A word is a key if it takes 2 to
// 4096 values, almost all of which repeat 20 times or more; if its values are addresses of the stack, of a module, or
// inside of a live object; and if objects of different owners are allocated in turns, because otherwise separate pools
// would change nothing. Of several keys it takes the one with most values. Two passes over the events, the second only
// if keys remain to be checked. Memory: values of the remaining keys. Read-only afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "lab/symbols/subsystem_map.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::characterise {

struct owner_key {
    std::uint32_t module = 0;
    std::uint64_t offset = 0;  // where the allocating call returns to, in the module's file
    unsigned position = 0;     // of the word: see preload/word_position.hpp
    std::size_t owners = 0;
    std::uint64_t samples = 0;
};

class owner_keys {
  public:
    static constexpr std::size_t owners_min = 2, owners_max = 4096;
    static constexpr std::uint64_t repeats_min = 20;
    static constexpr double turns_min = 0.01;  // of the samples, those whose owner is not that of the one before
    static constexpr double strays_max =
        0.02;  // of the samples, those that break a rule: at starts, ends and by chance

    // Reads all events.
    owner_keys(trace::reader& reader, const symbols::subsystem_map& subsystems);

    [[nodiscard]] const std::vector<owner_key>& keys_of(std::uint32_t subsystem) const;
    // The share of the subsystem's samples at call sites that have a key.
    [[nodiscard]] double share_of(std::uint32_t subsystem) const;

  private:
    std::map<std::uint32_t, std::vector<owner_key>> keys_;
    std::map<std::uint32_t, std::uint64_t> samples_of_;
};

}  // namespace millpond::characterise
