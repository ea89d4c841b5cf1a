// SPDX-License-Identifier: BSL-1.0
// noted_new_delete: new_delete, which also notes the requests it gets, for the littering of a heap.
//
//   noting = &blocks;   suites::by_type<noted_new_delete>, resource<noted_new_delete>: every block is noted in `blocks`
//
// try_allocate, which a pool calls on its source, is not noted: this class stands for the heap of the process itself.
// Thread-safety: that of operator new, and of heap_litter::note.
#pragma once

#include <cstddef>

#include "lab/measure/heap_litter.hpp"
#include "millpond/block/new_delete.hpp"

namespace millpond::frame {

inline measure::heap_litter* noting = nullptr;

class noted_new_delete : public new_delete {
  public:
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        noting->note(bytes);
        return new_delete::allocate(bytes, alignment);
    }
};

}  // namespace millpond::frame
