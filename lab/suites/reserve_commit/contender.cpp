// SPDX-License-Identifier: BSL-1.0
#include "contender.hpp"

namespace millpond::reserve_commit {

std::span<const frame::contender> contenders() {
    static constexpr const frame::package* standard = &frame::packages::standard_library;
    static constexpr frame::contender all[] = {
        {.name = "vector", .alias = "std::vector", .kind = "heap_array", .from = standard},
        {.name = "dyn_array_2023", .alias = "DynArray", .kind = "array"},
        {.name = "dyn_array"},
        {.name = "deque", .kind = "heap_array", .from = standard},
        {.name = "chunked", .kind = "heap_array"},
        {.name = "realloc", .kind = "heap_array", .from = &frame::packages::libc},
        {.name = "mremap", .kind = "array"},
        {.name = "keep", .kind = "ideal"},
        {.name = "madv_free", .alias = "MADV_FREE", .kind = "system"},
        {.name = "madv_dontneed", .alias = "MADV_DONTNEED", .kind = "system"},
        {.name = "decommit"},
    };
    return all;
}

}  // namespace millpond::reserve_commit
