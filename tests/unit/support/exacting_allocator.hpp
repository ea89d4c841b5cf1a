// SPDX-License-Identifier: BSL-1.0
// exacting_allocator: an allocator that requires every block back with its own address, size and alignment.
//
//   container ──▶ binding ──allocate, deallocate──▶ exacting_allocator        what a pool would forgive fails here
#pragma once

#include <new>

#include "accounting_source.hpp"

namespace millpond::test {

class exacting_allocator : public accounting_source {
  public:
    // Throws: std::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (void* block = try_allocate(bytes, alignment)) return block;
        throw std::bad_alloc();
    }
};

}  // namespace millpond::test
