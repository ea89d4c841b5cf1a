// SPDX-License-Identifier: BSL-1.0
// free_list: freed blocks of one size, linked through their own first bytes, the last freed first.
//
//   first ─▶│next│▒▒▒▒│─▶│next│▒▒▒▒│─▶│null│▒▒▒▒│            poisoned, the links too
//   hardened: links are encoded, and blocks of 16 bytes and more carry a seal while they are free
//             │next ⊕ secret│seal│▒▒│
//
// Use it inside an allocator that knows the size of its blocks; they must hold a pointer and be aligned to it.
// push, pop: O(1). Not thread-safe.
//
// Hardened builds (MILLPOND_HARDENED, defined in all translation units) end the program with a message on a double free
// or a write to a free block, instead of handing one block to two owners or memory to an attacker. A block of 8 bytes
// has no room for the seal: there, only an overwritten link and a block freed twice in a row are found.
//
// Example:
//     alignas(8) char block[24] = {};
//     millpond::detail::free_list list{};
//     list.push(block, sizeof block);
//     assert(list.pop(sizeof block) == block && list.pop(sizeof block) == nullptr);
//     millpond::detail::unpoison(block, sizeof block);
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "../../core/abi.hpp"
#include "../../core/detail/hardening.hpp"
#include "../../core/detail/sanitizer.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

class free_list {
    struct link {
        encoded_pointer<link> next;
    };
    struct sealed_link {
        link of;
        seal mark;
    };

    [[nodiscard]] static seal& seal_of(void* block) noexcept { return static_cast<sealed_link*>(block)->mark; }

  public:
    // True if push and pop use a block's size; otherwise the caller saves a load.
    static constexpr bool looks_at_size = is_hardened || memory_checker;

    // Returns: true if free blocks of so many bytes carry a seal, in hardened mode.
    [[nodiscard]] static constexpr bool is_sealed(std::size_t bytes) noexcept { return bytes >= sizeof(sealed_link); }

    // Effects: adds the block, of `bytes`, to the list and poisons it.
    void push(void* block, std::size_t bytes) noexcept {
        unpoison(block, bytes < sizeof(sealed_link) ? sizeof(link) : sizeof(sealed_link));
        if constexpr (is_hardened) {
            if (is_sealed(bytes)) [[likely]] {
                seal_of(block).close(block);
            } else if (block == first_) {
                misuse_found("a block was freed twice", block);
            }
        }
        link* const freed = ::new (block) link;
        freed->next.set(first_);
        first_ = freed;
        poison(block, bytes);
    }

    // Returns: the block pushed last, still poisoned, or null.
    [[nodiscard]] void* pop([[maybe_unused]] std::size_t bytes) noexcept {
        link* const block = first_;
        if (block == nullptr) return nullptr;
        unpoison_contents(block, bytes < sizeof(sealed_link) ? sizeof(link) : sizeof(sealed_link));
        if constexpr (is_hardened) {
            if (is_sealed(bytes)) [[likely]]
                seal_of(block).open(block);
        }
        first_ = block->next.get();
        poison(block, bytes);
        return block;
    }

    // Effects: removes a seal that an earlier owner of the memory may have left, because a fresh block is not free.
    static void forget_seal([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) noexcept {
        if constexpr (is_hardened) {
            if (!is_sealed(bytes)) return;
            unpoison(block, sizeof(sealed_link));
            seal_of(block).clear();
            poison(block, sizeof(sealed_link));
        }
    }

    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    // Returns true if both are empty; testing both at once saves an instruction.
    [[nodiscard]] static bool are_empty(const free_list& a, const free_list& b) noexcept {
        return (reinterpret_cast<std::uintptr_t>(a.first_) | reinterpret_cast<std::uintptr_t>(b.first_)) == 0;
    }
    [[nodiscard]] bool is_first(const void* block) const noexcept { return first_ == block; }

  private:
    link* first_ = nullptr;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
