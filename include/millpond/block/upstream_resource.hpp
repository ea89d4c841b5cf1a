// SPDX-License-Identifier: BSL-1.0
// upstream_resource: a block source over a std::pmr::memory_resource, chosen at run time.
//
//   multipool<upstream_resource> ──chunks──▶ upstream_resource ──virtual call──▶ any std::pmr::memory_resource
//
// Use it to put our allocators over another library's resource, or over one that is known only at run time; the virtual
// call is paid for each chunk, not for each block. Where the source is known at compile time, name it instead.
// An exception of the resource leaves the pool's allocate unchanged; try_allocate returns null. Built with
// -fno-exceptions, a throw ends the program.
//
// O(1) on top of the resource; as thread-safe as the resource. Copies refer to the same resource.
//
// Example:
//     std::pmr::monotonic_buffer_resource theirs;
//     millpond::multipool<millpond::upstream_resource> ours(&theirs);
#pragma once

#include <cstddef>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../core/abi.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/out_of_memory.hpp"

namespace millpond::inline MILLPOND_ABI {

class upstream_resource {
  public:
    // Ownership: refers to `resource` (not null), which must outlive every copy of this.
    upstream_resource(std::pmr::memory_resource* resource = std::pmr::get_default_resource()) noexcept
        : resource_(resource) {}

    // Returns: `bytes` of memory aligned to `alignment`, or null if the resource threw.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (bytes > detail::max_bytes || alignment > detail::max_bytes - bytes) return nullptr;
#if defined(__cpp_exceptions)
        try {
            return resource_->allocate(bytes, alignment);
        } catch (...) {
            detail::kept_exception::keep();
            return nullptr;
        }
#else
        return resource_->allocate(bytes, alignment);
#endif
    }

    // Throws: what the resource throws.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (bytes > detail::max_bytes || alignment > detail::max_bytes - bytes) out_of_memory(bytes, alignment);
        return resource_->allocate(bytes, alignment);
    }

    // Effects: gives back a block that was allocated with the same `bytes` and `alignment`.
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        resource_->deallocate(block, bytes, alignment);
    }

    [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

    [[nodiscard]] friend bool operator==(const upstream_resource& a, const upstream_resource& b) noexcept {
        return *a.resource_ == *b.resource_;
    }

  private:
    std::pmr::memory_resource* resource_;
};

}  // namespace millpond::inline MILLPOND_ABI
