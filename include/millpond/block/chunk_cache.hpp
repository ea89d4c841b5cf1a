// SPDX-License-Identifier: BSL-1.0
// chunk_cache: the process-wide cache of released chunks, and the default block source of every allocator.
//
//   monotonic<> a ─┐                          ┌─ bins of chunks, up to the budget (128 MiB unless set)
//   multipool<> b ─┼─ chunk_cache (empty) ──▶ │  one for the whole process
//   multipool<> c ─┘                          └─▶ new_delete
//
// An object of this class is an empty handle; all of them mean the same cache, and compare equal.
// Use it wherever allocators come and go: the next one starts in pages that are already there. Where memory must go
// back to the system with its allocator, use new_delete, or call chunk_cache::trim() at a quiet moment.
//
// Start and exit: the cache is constant-initialised and never destroyed, so constructors and destructors of static
// objects may use it in any order. What it holds at exit stays reachable: leak checkers report none of it.
//
// fork: the child has its own copy of what was cached and goes on with it. If another thread of the parent was inside
// the cache at that instant, the child works without the cache instead (basic_chunk_cache says why it cannot hang).
//
// allocate, deallocate: O(1). Thread-safe.
//
// Example:
//     millpond::chunk_cache::set_budget_bytes(16 << 20);
//     { millpond::multipool<> pool; }
//     millpond::chunk_cache::trim();  // everything back to operator delete
#pragma once

#include <cstddef>

#include "../core/out_of_memory.hpp"
#include "basic_chunk_cache.hpp"
#include "new_delete.hpp"

namespace millpond {

class chunk_cache {
    using cache = basic_chunk_cache<new_delete, true>;

  public:
    static constexpr std::size_t default_budget_bytes = cache::default_budget_bytes;

    // Returns: at least `bytes` of memory aligned to `alignment`, or null.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return shared().try_allocate(bytes, alignment);
    }

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        return shared().allocate(bytes, alignment);
    }

    // Effects: keeps the chunk for the next allocator, or gives it to operator delete if the budget is spent.
    void deallocate(void* chunk, std::size_t bytes, std::size_t alignment) noexcept {
        shared().deallocate(chunk, bytes, alignment);
    }

    [[nodiscard]] static constexpr std::size_t good_bytes(std::size_t bytes) noexcept {
        return cache::good_bytes(bytes);
    }

    // Effects: gives chunks to operator delete until at most `bytes_to_keep` are held.
    static void trim(std::size_t bytes_to_keep = 0) noexcept { shared().trim(bytes_to_keep); }
    static void set_budget_bytes(std::size_t bytes) noexcept { shared().set_budget_bytes(bytes); }
    [[nodiscard]] static std::size_t budget_bytes() noexcept { return shared().budget_bytes(); }
    [[nodiscard]] static std::size_t held_bytes() noexcept { return shared().held_bytes(); }

  private:
    [[nodiscard]] static cache& shared() noexcept {
        static constinit cache instance;
        return instance;
    }
};

[[nodiscard]] constexpr bool operator==(const chunk_cache&, const chunk_cache&) noexcept { return true; }

}  // namespace millpond
