// SPDX-License-Identifier: BSL-1.0
// requested_blocks: the live blocks of a slab_pool with their requests, in checked mode. There a block lies behind a
// guard of the pool, so its slab tells another size.
//
// add, find: O(log(blocks)), under a lock. In other modes nothing of this is used.
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
