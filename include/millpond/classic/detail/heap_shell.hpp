// SPDX-License-Identifier: BSL-1.0
// heap_shell: the interface that all classic allocators share, with their memory and their counts.
//
//   heap_shell<bsd, break_heap, Counts>        allocate, deallocate, reset, release, contains, operations, record
//     └ bsd                                    try_allocate, usable_bytes, use, for_each_list
//                                              and for the shell: give_back, forget
//
// Memory is a break_heap, or the heap that owns the memory, as gnu_gxx in quick_fit.
// All functions are O(1) beyond what they call. Not thread-safe.
//
// Example:
//     millpond::classic::bsd<> heap(std::size_t{1} << 20);  // 1 MiB at most
//     void* block = heap.allocate(24, 8);
//     assert(heap.contains(block) && !heap.contains(&heap));
//     heap.deallocate(block);
#pragma once

#include <cstddef>

#include "../../core/abi.hpp"
#include "../../core/out_of_memory.hpp"
#include "../heap_record.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

template <class Heap, class Memory, class Counts>
class heap_shell {
  public:
    static constexpr std::size_t default_limit_bytes = Memory::default_limit_bytes;

    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = heap().try_allocate(bytes, alignment)) return block;
        out_of_memory(bytes, alignment);
    }

    // `block`: from this heap and not given back since, or null.
    void deallocate(void* block) noexcept {
        if (block == nullptr) return;
        counts_.note_unsized();
        heap().give_back(static_cast<std::byte*>(block));
    }

    // The same: the heap knows size and alignment. The `bytes` asked for are used by the counts.
    void deallocate(void* block, std::size_t bytes, std::size_t) noexcept {
        if (block == nullptr) return;
        counts_.note_sized(bytes);
        heap().give_back(static_cast<std::byte*>(block));
    }

    // Effects: frees all blocks; the memory stays.
    void reset() noexcept {
        memory_.reset();
        counts_.note_reset();
        heap().forget();
    }

    // Effects: frees all blocks; all memory goes back to the system.
    void release() noexcept {
        memory_.release();
        counts_.note_reset();
        heap().forget();
    }

    // Returns: true for every address in the memory that the heap has taken, which includes all its blocks.
    [[nodiscard]] bool contains(const void* place) const noexcept { return memory_.contains(place); }

    [[nodiscard]] const Counts& operations() const noexcept { return counts_; }

    // O(blocks).
    [[nodiscard]] classic::heap_record record() const noexcept {
        classic::heap_record found;
        found.use = heap().use();
        heap().for_each_list([&](std::size_t, std::size_t length) { found.note_list(length); });
        if constexpr (requires { found.done += counts_; }) {
            found.done = counts_;
            if constexpr (requires { memory_.operations(); }) found.done += memory_.operations();
            found.is_counted = true;
        }
        return found;
    }

  private:
    friend Heap;

    explicit heap_shell(std::size_t limit_bytes) noexcept : memory_(limit_bytes) {}
    heap_shell(const heap_shell&) = delete;
    heap_shell& operator=(const heap_shell&) = delete;
    ~heap_shell() = default;

    [[nodiscard]] Heap& heap() noexcept { return static_cast<Heap&>(*this); }
    [[nodiscard]] const Heap& heap() const noexcept { return static_cast<const Heap&>(*this); }

    Memory memory_;
    [[no_unique_address]] Counts counts_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
