// SPDX-License-Identifier: BSL-1.0
// rewind_scope: takes a checkpoint and rewinds to it at the end of the scope.
//
//   │ kept │▒▒ allocated in the scope ▒▒│          ends: │ kept │
//          ▲ checkpoint
//
// Use it for temporary data within a longer lifetime: one line of a file, one call. Scopes nest as blocks do. Nothing
// allocated in the scope may be used after it. O(chunks given up). As thread-safe as its allocator.
//
// Example:
//     millpond::monotonic<> pool;
//     for (int line = 0; line < 3; ++line) {
//         millpond::rewind_scope scope(pool);
//         static_cast<void>(pool.allocate(1000, 8));  // the same memory in every round
//     }
#pragma once

#include "../core/abi.hpp"
#include "../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI {

template <rewindable_allocator Allocator>
class rewind_scope {
  public:
    explicit rewind_scope(Allocator& allocator) noexcept : allocator_(allocator), place_(allocator.checkpoint()) {}
    rewind_scope(const rewind_scope&) = delete;
    rewind_scope& operator=(const rewind_scope&) = delete;
    ~rewind_scope() { allocator_.rewind(place_); }

  private:
    Allocator& allocator_;
    decltype(allocator_.checkpoint()) place_;
};

}  // namespace millpond::inline MILLPOND_ABI
