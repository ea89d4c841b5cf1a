// SPDX-License-Identifier: BSL-1.0
// synchronized: a lock around any allocator.
//
//   thread 1 ─┐
//   thread 2 ─┼─▶ lock ─▶ allocator ─▶ block source
//   thread 3 ─┘
//
// Use it where several threads really share one allocator. An allocator for each thread is faster, and the default
// block source is thread-safe already. One lock for each call: under contention threads wait for one another. release,
// reset and rewind are locked too, but their caller must know that no thread still uses a block.
//
// Complexity: that of the allocator, and one lock. Thread-safe, except unlocked(). Mutex: any type with lock, unlock.
//
// Example:
//     millpond::synchronized<millpond::multipool<>> pool;
//     std::thread other([&] { pool.deallocate(pool.allocate(24, 8), 24, 8); });
//     pool.deallocate(pool.allocate(24, 8), 24, 8);
//     other.join();
#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>
#include <utility>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI {

template <block_source Allocator, class Mutex = std::mutex>
class synchronized {
  public:
    // Ownership: the allocator is a member, made from the arguments.
    template <class... Arguments>
        requires std::constructible_from<Allocator, Arguments...>
    explicit synchronized(Arguments&&... arguments) : allocator_(std::forward<Arguments>(arguments)...) {}

    synchronized(const synchronized&) = delete;
    synchronized& operator=(const synchronized&) = delete;

    // Returns: what the allocator returns.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const std::lock_guard lock(mutex_);
        return allocator_.try_allocate(bytes, alignment);
    }

    // Throws: what the allocator throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment)
        requires allocator_like<Allocator>
    {
        const std::lock_guard lock(mutex_);
        return allocator_.allocate(bytes, alignment);
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const std::lock_guard lock(mutex_);
        allocator_.deallocate(block, bytes, alignment);
    }

    void reset() noexcept
        requires managed_allocator<Allocator>
    {
        const std::lock_guard lock(mutex_);
        allocator_.reset();
    }

    void release() noexcept
        requires managed_allocator<Allocator>
    {
        const std::lock_guard lock(mutex_);
        allocator_.release();
    }

    [[nodiscard]] auto checkpoint() const noexcept
        requires rewindable_allocator<Allocator>
    {
        const std::lock_guard lock(mutex_);
        return allocator_.checkpoint();
    }

    template <class Checkpoint>
        requires rewindable_allocator<Allocator>
    void rewind(Checkpoint place) noexcept {
        const std::lock_guard lock(mutex_);
        allocator_.rewind(place);
    }

    // Returns: the allocator itself, for a thread that knows that no other thread uses it.
    [[nodiscard]] Allocator& unlocked() noexcept { return allocator_; }

  private:
    mutable Mutex mutex_;
    Allocator allocator_;
};

}  // namespace millpond::inline MILLPOND_ABI
