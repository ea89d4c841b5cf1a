// SPDX-License-Identifier: BSL-1.0
// accounting_source: a block source that writes down what it gives and checks what comes back, and fails when told to.
//
//   try_allocate  ──▶ call n: memory filled with rubbish, or null if n is to fail
//   deallocate    ──▶ must be a block it gave, with the same size and alignment
//
// Allocators reach it through source_ref. Its destructor reports what did not come back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <millpond/block/source_ref.hpp>
#include <millpond/core.hpp>

#include "aligned_memory.hpp"

namespace millpond::test {

class accounting_source {
  public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    struct gift {
        std::size_t bytes;
        std::size_t alignment;
        std::size_t block_bytes;  // 0: not a slab
    };

    accounting_source() = default;
    accounting_source(const accounting_source&) = delete;
    accounting_source& operator=(const accounting_source&) = delete;
    virtual ~accounting_source() {
        EXPECT_TRUE(given_.empty()) << given_.size() << " blocks, the first of " << given_.begin()->second.bytes
                                    << " bytes, did not come back to the source";
    }

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return give(bytes, alignment, 0);
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const auto found = given_.find(block);
        if (found == given_.end()) {
            ADD_FAILURE() << "a block came back that was not given: " << block;
            return;
        }
        EXPECT_EQ(found->second.bytes, bytes);
        EXPECT_EQ(found->second.alignment, alignment);
        std::memset(block, 0xDD, bytes);  // an address sanitizer objects if it is still poisoned
        live_bytes_ -= bytes;
        given_.erase(found);
        put_back(block);
    }

    // The call with this number (the first is 0, counted from now) returns null.
    void fail_once_at(std::size_t call) noexcept { fail_at_ = calls_ + call; }
    // This call and every later one return null.
    void fail_from(std::size_t call) noexcept { fail_from_ = calls_ + call; }
    void never_fail() noexcept { fail_at_ = fail_from_ = never; }
    // Requests above so many bytes return null, always.
    void refuse_above(std::size_t bytes) noexcept { largest_ = bytes; }

    [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
    [[nodiscard]] std::size_t failures() const noexcept { return failures_; }
    [[nodiscard]] std::size_t live_bytes() const noexcept { return live_bytes_; }
    // In all calls together.
    [[nodiscard]] std::size_t given_bytes() const noexcept { return given_bytes_; }
    [[nodiscard]] std::size_t live_blocks() const noexcept { return given_.size(); }
    [[nodiscard]] const std::map<void*, gift>& given() const noexcept { return given_; }

  protected:
    [[nodiscard]] void* give(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept {
        const std::size_t call = calls_++;
        EXPECT_TRUE(detail::is_power_of_two(alignment));
        if (call == fail_at_ || call >= fail_from_ || bytes > largest_) {
            ++failures_;
            return nullptr;
        }
        void* const block = obtain(bytes, alignment);
        if (block == nullptr) return nullptr;
        std::memset(block, 0xA5, bytes);
        given_.emplace(block, gift{bytes, alignment, block_bytes});
        live_bytes_ += bytes;
        given_bytes_ += bytes;
        return block;
    }

    [[nodiscard]] virtual void* obtain(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t supported = alignment < sizeof(void*) ? sizeof(void*) : alignment;
        return aligned_memory(detail::align_up(bytes, supported), supported);
    }
    virtual void put_back(void* block) noexcept { free_aligned(block); }

  private:
    std::map<void*, gift> given_;
    std::size_t live_bytes_ = 0;
    std::size_t given_bytes_ = 0;
    std::size_t calls_ = 0;
    std::size_t failures_ = 0;
    std::size_t fail_at_ = never;
    std::size_t fail_from_ = never;
    std::size_t largest_ = std::size_t{1} << std::min(32, std::numeric_limits<std::size_t>::digits - 2);
};

// The same with chunks of one size, whose blocks it wants to know: the source of a router.
class accounting_slab_source : public accounting_source {
  public:
    static constexpr std::size_t preferred_chunk_bytes = std::size_t{64} << 10;

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept {
        EXPECT_EQ(bytes, preferred_chunk_bytes);
        EXPECT_EQ(alignment, preferred_chunk_bytes);
        return give(bytes, alignment, block_bytes);
    }

    // Returns the block size of the slab in which `block` lies, as a free without a size would find it.
    [[nodiscard]] std::size_t block_bytes_at(const void* block) const {
        const auto address = reinterpret_cast<std::uintptr_t>(block) & ~(preferred_chunk_bytes - 1);
        const auto found = given().find(reinterpret_cast<void*>(address));
        return found == given().end() ? 0 : found->second.block_bytes;
    }
};

// An accounting source of slabs of any size.
class accounting_loose_slab_source : public accounting_source {
  public:
    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept {
        return give(bytes, alignment, block_bytes);
    }
};

using accounting_ref = source_ref<accounting_source>;

// A reference to an accounting source that has every chunk at hand.
struct accounting_ref_at_hand : accounting_ref {
    using accounting_ref::accounting_ref;
    [[nodiscard]] allocation try_allocate_at_hand(std::size_t bytes, std::size_t alignment) noexcept {
        return {try_allocate(bytes, alignment), bytes};
    }
};
using accounting_slab_ref = source_ref<accounting_slab_source>;

}  // namespace millpond::test
