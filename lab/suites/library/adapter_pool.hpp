// SPDX-License-Identifier: BSL-1.0
// adapter_pool: makes a pool of a foreign library (peer_adapter.h) an allocator that binds by type.
//
//   container ─▶ allocator<T, adapter_pool> ─▶ one indirect call ─▶ millpond_peer_allocate(pool, bytes, alignment)
//
// One library per process, loaded once and never unloaded. As fast and as thread-safe as the library.
#pragma once

#include <cstddef>
#include <new>

namespace millpond::library {

struct adapter_functions {
    void* (*create)() = nullptr;
    void* (*allocate)(void*, std::size_t, std::size_t) = nullptr;
    void (*deallocate)(void*, void*, std::size_t, std::size_t) = nullptr;
    void (*destroy)(void*) = nullptr;
    const char* (*name)() = nullptr;
    const char* (*version)() = nullptr;
};

inline adapter_functions adapter;

// Effects: fills `adapter`. Throws: program::failure, which says what is wrong with the library.
void load_adapter(const char* path);

class adapter_pool {
  public:
    adapter_pool() : pool_(adapter.create()) {
        if (pool_ == nullptr) throw std::bad_alloc();
    }
    adapter_pool(const adapter_pool&) = delete;
    adapter_pool& operator=(const adapter_pool&) = delete;
    ~adapter_pool() { adapter.destroy(pool_); }

    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return adapter.allocate(pool_, bytes, alignment);
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = adapter.allocate(pool_, bytes, alignment);
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        adapter.deallocate(pool_, block, bytes, alignment);
    }

  private:
    void* pool_;
};

}  // namespace millpond::library
