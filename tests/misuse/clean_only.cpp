// SPDX-License-Identifier: BSL-1.0
// An empty table of misuses, for modes in which a misuse may do anything: only clean programs run there.
#include "misuses.hpp"

namespace millpond::test {

std::span<const program> array_misuses() { return {}; }
std::span<const program> arena_misuses() { return {}; }
std::span<const program> block_misuses() { return {}; }
std::span<const program> container_misuses() { return {}; }
std::span<const program> edge_misuses() { return {}; }
std::span<const program> element_misuses() { return {}; }
std::span<const program> life_misuses() { return {}; }
std::span<const program> rank_misuses() { return {}; }
std::span<const program> sequence_misuses() { return {}; }
std::span<const program> read_misuses() { return {}; }
std::span<const program> row_misuses() { return {}; }
std::span<const program> slot_misuses() { return {}; }
std::span<const program> source_misuses() { return {}; }
std::span<const program> thread_misuses() { return {}; }
std::span<const program> wink_misuses() { return {}; }

}  // namespace millpond::test
