// SPDX-License-Identifier: BSL-1.0
// use_series: a layer over any allocator with record() that keeps a record after every so many calls.
//
//   calls    ──┬────┬────┬────┬────▶        room of 4, step 100:  100  200  300  400
//            100  200  300  400                                   200  400  600  800   when it was full: step 200
//
// Use it to see how memory, lists and fragmentation develop: over a classic allocator, or over counted<A> for any
// other. The samples lie in the caller's memory, and the series allocates nothing. When the room is full, every second
// sample is dropped and the step doubles, so the samples always cover the whole run.
//
// allocate, deallocate: as A; the last call of each step also O(blocks), for the record. Not thread-safe.
//
// Example:
//     using heap_type = millpond::classic::first_fit<millpond::classic::pointer_words>;
//     std::vector<millpond::use_sample> room(100);
//     millpond::use_series<heap_type> heap(room, 10);
//     for (int i = 0; i < 1000; ++i) heap.deallocate(heap.allocate(24, 8), 24, 8);
//     assert(heap.samples().back().operation == 2000 && heap.samples().size() == 100 && heap.step() == 20);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "../classic/heap_record.hpp"
#include "../core/abi.hpp"
#include "../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI {

struct use_sample {
    std::uint64_t operation = 0;  // number of calls so far
    classic::heap_record record;
};

template <allocator_like A>
    requires requires(const A& allocator) {
        { allocator.record() } -> std::same_as<classic::heap_record>;
    }
class use_series {
  public:
    // Ownership: the allocator is a member, made from the arguments behind. `room` must outlive it; `step` is above 0.
    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    use_series(std::span<use_sample> room, std::uint64_t step, Arguments&&... arguments)
        : room_(room), step_(step), allocator_(std::forward<Arguments>(arguments)...) {}

    use_series(const use_series&) = delete;
    use_series& operator=(const use_series&) = delete;

    // Returns: what the allocator returns; a failed call counts, too.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        void* const block = allocator_.try_allocate(bytes, alignment);
        note();
        return block;
    }

    // Throws: what the allocator throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = allocator_.allocate(bytes, alignment);
        note();
        return block;
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        allocator_.deallocate(block, bytes, alignment);
        note();
    }

    void deallocate(void* block) noexcept
        requires requires(A& allocator) { allocator.deallocate(block); }
    {
        allocator_.deallocate(block);
        note();
    }

    void reset() noexcept
        requires managed_allocator<A>
    {
        allocator_.reset();
        note();
    }

    void release() noexcept
        requires managed_allocator<A>
    {
        allocator_.release();
        note();
    }

    [[nodiscard]] classic::heap_record record() const noexcept { return allocator_.record(); }

    // Returns: the samples so far, each `step` calls after the previous one.
    [[nodiscard]] std::span<const use_sample> samples() const noexcept { return room_.first(filled_); }
    [[nodiscard]] std::uint64_t step() const noexcept { return step_; }

    [[nodiscard]] A& target() noexcept { return allocator_; }

  private:
    void note() noexcept {
        if (++operations_ % step_ != 0) return;
        if (filled_ == room_.size()) {
            filled_ /= 2;
            for (std::size_t i = 0; i < filled_; ++i) room_[i] = room_[2 * i + 1];
            step_ *= 2;
            if (operations_ % step_ != 0 || room_.empty()) return;
        }
        room_[filled_++] = {operations_, allocator_.record()};
    }

    std::span<use_sample> room_;
    std::uint64_t step_;
    std::size_t filled_ = 0;
    std::uint64_t operations_ = 0;
    A allocator_;
};

}  // namespace millpond::inline MILLPOND_ABI
