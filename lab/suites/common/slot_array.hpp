// SPDX-License-Identifier: BSL-1.0
// slot_array: very many objects of one type, each in a block of its own, held by an array of pointers.
//
//   │ptr│ptr│ptr│ptr│…     in the order of allocation
//     └► 1    └► 1          an object is written when it is allocated
//
// After the benchmark of the Counter Tree Library's suballocator (2012), chapter 4.4. The array exists, and is touched,
// after construction. Steps are out of line, so that all contenders pay the same. O(slots) each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millpond::suites {

template <class C, class T>
class slot_array {
  public:
    using allocator = typename C::template allocator<T>;

    // Ownership: the pool must outlive this; slots that are not freed stay allocated.
    slot_array(typename C::pool& pool, std::uint64_t count)
        : binding_(C::template bind<T>(pool)), live_(count, reinterpret_cast<T*>(alignof(T))) {}

    [[gnu::noinline]] void fill() {
        for (T*& slot : live_) *(slot = binding_.allocate(1)) = T{1};
    }
    [[gnu::noinline]] void free_from_last() {
        for (std::size_t i = live_.size(); i-- > 0;) binding_.deallocate(live_[i], 1);
    }
    [[gnu::noinline]] void free_from_first() {
        for (T* slot : live_) binding_.deallocate(slot, 1);
    }
    // Frees every second slot.
    [[gnu::noinline]] void free_odd() {
        for (std::size_t i = 1; i < live_.size(); i += 2) binding_.deallocate(live_[i], 1);
    }
    [[gnu::noinline]] void fill_odd() {
        for (std::size_t i = 1; i < live_.size(); i += 2) *(live_[i] = binding_.allocate(1)) = T{1};
    }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const T* slot : live_) all += static_cast<std::uint64_t>(*slot);
        return all;
    }

  protected:
    allocator binding_;
    std::vector<T*> live_;
};

}  // namespace millpond::suites
