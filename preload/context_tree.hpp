// SPDX-License-Identifier: BSL-1.0
// context_tree: every call stack that allocated, as a tree of frames. A context is the node of its innermost frame.
//
//   0 outside ─┬─ 1 _start ── 2 main ─┬─ 3 fill ── 4 insert
//              │                      └─ 5 drain
//
//   node │ return address │ parent │ two children: return address and id │       32 bytes, by id
//   (parent, return address) → id                                                a hash table of all further children
//
// child() finds or makes a node: lock-free if it exists, under a lock of its own if it is new. Deep in a tree most
// nodes have one or two children, and the nodes of one walk are adjacent, so a stack costs few cache lines. Nodes with
// many children are few, and their table entries are used often. An observer is told of each new node before any
// thread can see its id. Ids count from 1 and are never used twice; after forget() the same stack gets a new id. One
// tree a process. Memory: 32 bytes a node, up to 128 more for a third child and each further one, never returned. Out
// of memory: child() returns 0, the outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/spin_lock.hpp"

namespace millpond::preload {

class context_tree {
  public:
    // Return addresses that mark special frames.
    static constexpr std::uintptr_t cut = 1;        // the walk ended here: depth limit, or no call-frame information
    static constexpr std::uintptr_t generated = 2;  // code that belongs to no file
    static constexpr std::uintptr_t frees = 4;      // no frame: its caller is a stack that frees

    using observer = void (*)(std::uint32_t id, std::uint32_t parent, std::uintptr_t return_address) noexcept;

    struct node {
        std::uintptr_t return_address;
        std::uint32_t parent;
    };

    // Call it before the first child(). The observer runs under the tree's lock and must not allocate.
    void set_observer(observer o) noexcept { observer_ = o; }

    [[nodiscard]] std::uint32_t child(std::uint32_t parent, std::uintptr_t return_address) noexcept {
        if (const std::uint32_t id = find(parent, return_address)) [[likely]]
            return id;
        return make(parent, return_address);
    }

    // Precondition: id was returned by child().
    [[nodiscard]] node at(std::uint32_t id) const noexcept {
        const place& p = chunks_[id >> chunk_bits][id & chunk_mask];
        return {p.return_address, p.parent};
    }
    [[nodiscard]] std::uint32_t size() const noexcept { return __atomic_load_n(&last_id_, __ATOMIC_RELAXED); }

    // Makes nodes with a return address in (first, last] impossible to find. Finders must drop what they remember.
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
        table* before;  // the smaller one that this one replaced
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
    // A node and its place.
    struct place {
        std::uintptr_t return_address;
        std::uint32_t parent;
        std::uint16_t id_high[2];
        std::uint64_t children[2];  // the return address, 48 bits; the id's low 16. Written last. 0: none

        [[nodiscard]] std::uint32_t child(unsigned i, std::uint64_t seen) const noexcept {
            return std::uint32_t{__atomic_load_n(&id_high[i], __ATOMIC_RELAXED)} << 16 | (seen & 0xFFFF);
        }
    };
    static_assert(sizeof(place) == 32);

    static constexpr std::uintptr_t forgotten = 3;
    static constexpr unsigned chunk_bits = 13;
    static constexpr std::uint32_t chunk_mask = (1u << chunk_bits) - 1;
    static constexpr std::size_t chunk_count = 4096;  // 33 M nodes
    static constexpr std::size_t first_entries = 1024;

    static bool fits_beside(std::uintptr_t return_address) noexcept { return return_address >> 48 == 0; }
    [[nodiscard]] std::uint32_t find(std::uint32_t parent, std::uintptr_t return_address) const noexcept {
        const place* const chunk = __atomic_load_n(&chunks_[parent >> chunk_bits], __ATOMIC_ACQUIRE);
        if (chunk == nullptr) [[unlikely]]
            return 0;
        const place& from = chunk[parent & chunk_mask];
        const std::uint64_t first = __atomic_load_n(&from.children[0], __ATOMIC_ACQUIRE);
        if (first >> 16 == return_address) return from.child(0, first);
        const std::uint64_t second = __atomic_load_n(&from.children[1], __ATOMIC_ACQUIRE);
        if (second >> 16 == return_address) return from.child(1, second);
        if (second == 0 && fits_beside(return_address)) return 0;
        const table* const t = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        return t == nullptr ? 0 : t->find(parent, return_address);
    }

    [[gnu::noinline, gnu::cold]] std::uint32_t make(std::uint32_t parent, std::uintptr_t return_address) noexcept;
    bool make_room() noexcept;
    place* room_for(std::uint32_t id) noexcept;

    table* table_ = nullptr;
    place* chunks_[chunk_count] = {};
    std::uint32_t last_id_ = 0;
    observer observer_ = nullptr;
    spin_lock lock_;
};

}  // namespace millpond::preload
