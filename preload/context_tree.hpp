// SPDX-License-Identifier: BSL-1.0
// context_tree: every call stack that allocated, as a tree of frames. A context is the node of its innermost frame.
//
//   0 outside ─┬─ 1 _start ── 2 main ─┬─ 3 fill ── 4 insert     id → {parent, return address}
//              │                      └─ 5 drain                (parent, return address) → id: a hash table
//
// child() finds or makes a node: lock-free when it exists, a lock of its own when it is new. An observer is told of
// each new node before any thread can see its id. Ids count from 1 and are never used twice; after forget() the same
// stack gets a new id. One tree a process; memory: 32 bytes a node, never returned. Out of memory: child() answers 0,
// the outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/spin_lock.hpp"

namespace millpond::preload {

class context_tree {
  public:
    // Return addresses that stand for no call.
    static constexpr std::uintptr_t cut = 1;        // the walk ended here: depth limit, or no call-frame information
    static constexpr std::uintptr_t generated = 2;  // code that belongs to no file

    using observer = void (*)(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;

    struct node {
        std::uintptr_t return_address;
        std::uint32_t parent;
    };

    // Before the first child(). The observer runs under the tree's lock and must not allocate.
    void set_observer(observer o) noexcept { observer_ = o; }

    [[nodiscard]] std::uint32_t child(std::uint32_t parent, std::uintptr_t return_address) noexcept {
        if (const table* const t = __atomic_load_n(&table_, __ATOMIC_ACQUIRE)) [[likely]] {
            if (const std::uint32_t id = t->find(parent, return_address)) [[likely]]
                return id;
        }
        return make(parent, return_address);
    }

    // Precondition: id was returned by child().
    [[nodiscard]] node at(std::uint32_t id) const noexcept { return chunks_[id >> chunk_bits][id & chunk_mask]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return __atomic_load_n(&last_id_, __ATOMIC_RELAXED); }

    // Nodes whose return address lies in (first, last] will not be found again. Finders must drop what they remember.
    void forget(std::uintptr_t first, std::uintptr_t last) noexcept;
    // Gives the memory back and starts again with id 1. No other thread may run.
    void clear() noexcept;

    spin_lock& lock() noexcept { return lock_; }

  private:
    struct entry {
        std::uintptr_t return_address;
        std::uint32_t parent;
        std::uint32_t id;  // 0: free; written last
    };
    struct table {
        std::size_t mask, used;
        entry entries[1];

        static std::size_t hash(std::uint32_t parent, std::uintptr_t address) noexcept {
            const std::uint64_t h = (address ^ (std::uint64_t{parent} * 0xC2B2AE3D27D4EB4Fu)) * 0x9E3779B97F4A7C15u;
            return h ^ (h >> 32);
        }
        [[nodiscard]] std::uint32_t find(std::uint32_t parent, std::uintptr_t address) const noexcept {
            for (std::size_t i = hash(parent, address);; ++i) {
                const entry& e = entries[i & mask];
                const std::uint32_t id = __atomic_load_n(&e.id, __ATOMIC_ACQUIRE);
                if (id == 0) return 0;
                if (e.parent == parent && e.return_address == address) return id;
            }
        }
        void add(const entry& e) noexcept;
        static std::size_t bytes(std::size_t entries) noexcept { return sizeof(table) + entries * sizeof(entry); }
    };
    static constexpr std::uintptr_t forgotten = 3;
    static constexpr unsigned chunk_bits = 14;
    static constexpr std::uint32_t chunk_mask = (1u << chunk_bits) - 1;
    static constexpr std::size_t chunk_count = 2048;  // 33 M nodes
    static constexpr std::size_t first_entries = 1024;

    [[gnu::noinline, gnu::cold]] std::uint32_t make(std::uint32_t parent, std::uintptr_t return_address) noexcept;
    bool make_room() noexcept;

    table* table_ = nullptr;
    node* chunks_[chunk_count] = {};
    std::uint32_t last_id_ = 0;
    observer observer_ = nullptr;
    spin_lock lock_;
};

}  // namespace millpond::preload
