// SPDX-License-Identifier: BSL-1.0
// source_ref: a block source that refers to another one, so that several allocators share it.
//
//   multipool<source_ref<monotonic<>>> a ─┐
//   multipool<source_ref<monotonic<>>> b ─┴▶ one monotonic<>, which outlives both
//
// Without it an allocator owns its source: multipool<monotonic<>> holds a monotonic inside and releases it with itself.
// Through a reference chunks are given back one by one, because the source has other users.
// Copies refer to the same source. O(1) on top of the source; as thread-safe as the source.
//
// Example:
//     millpond::monotonic<> shared;
//     millpond::multipool<millpond::source_ref<millpond::monotonic<>>> a(shared), b(shared);
#pragma once

#include <cstddef>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"

namespace millpond::inline MILLPOND_ABI::detail {

// A reference has the chunk sizes that its source declares.
template <class Source>
struct chunk_size_of {};

template <fixed_chunk_source Source>
struct chunk_size_of<Source> {
    static constexpr std::size_t preferred_chunk_bytes = Source::preferred_chunk_bytes;
};

// A reference reuses memory if its source does.
template <class Source>
struct reuse_of {};

template <class Source>
    requires(!reuses_memory<Source>)
struct reuse_of<Source> {
    static constexpr bool reuses_memory = false;
};

// A reference is ordinary process memory if its source is.
template <class Source>
struct pages_behind {};

template <class Source>
    requires requires { typename Source::pages; }
struct pages_behind<Source> {
    using pages = typename Source::pages;
};

}  // namespace millpond::inline MILLPOND_ABI::detail

namespace millpond::inline MILLPOND_ABI {

template <class Source>
class source_ref : public detail::chunk_size_of<Source>,
                   public detail::reuse_of<Source>,
                   public detail::pages_behind<Source> {
  public:
    // Ownership: refers to `source`, which must outlive every copy of this.
    constexpr source_ref(Source& source) noexcept : source_(&source) {}

    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return source_->try_allocate(bytes, alignment);
    }

    // Throws: what the source throws when it is out of memory.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment)
        requires allocator_like<Source>
    {
        return source_->allocate(bytes, alignment);
    }

    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        source_->deallocate(block, bytes, alignment);
    }

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t block_bytes) noexcept
        requires slab_source<Source>
    {
        return source_->try_allocate_slab(bytes, alignment, block_bytes);
    }

    [[nodiscard]] allocation try_allocate_at_least(std::size_t bytes, std::size_t alignment) noexcept
        requires rounding_source<Source>
    {
        return source_->try_allocate_at_least(bytes, alignment);
    }

    [[nodiscard]] std::size_t try_resize(void* block, std::size_t bytes, std::size_t wanted) noexcept
        requires resizing_source<Source>
    {
        return source_->try_resize(block, bytes, wanted);
    }

    [[nodiscard]] friend bool operator==(const source_ref& a, const source_ref& b) noexcept {
        return a.source_ == b.source_;
    }

  private:
    Source* source_;
};

}  // namespace millpond::inline MILLPOND_ABI
