// SPDX-License-Identifier: BSL-1.0
// requested_blocks: the live blocks of a slab_pool with their requests, in checked mode and under a memory checker.
// There the pool puts guards around a block, so that its slab tells another size than may be used.
//
// add, find: O(log(blocks)), under a lock. Otherwise nothing of this is used.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "../../core/abi.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

struct block_request {
    std::size_t bytes = 0;
    std::size_t alignment = 0;  // 0: no live block
};

class requested_blocks {
  public:
    void add(const void* block, block_request request) {
        const std::lock_guard lock(mutex_);
        blocks_[block] = request;
    }
    [[nodiscard]] block_request find(const void* block) const {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(block);
        return found != blocks_.end() ? found->second : block_request{};
    }
    // Returns: the request, which is forgotten.
    block_request take(const void* block) {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(block);
        if (found == blocks_.end()) return {};
        const block_request request = found->second;
        blocks_.erase(found);
        return request;
    }

  private:
    mutable std::mutex mutex_;
    std::map<const void*, block_request> blocks_;
};

}  // namespace millpond::inline MILLPOND_ABI::detail
