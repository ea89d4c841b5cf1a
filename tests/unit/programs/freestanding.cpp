// SPDX-License-Identifier: BSL-1.0
// freestanding: multipool and monotonic over a source of the user's own, linked without the C++ run-time library.
//
// A preloaded library has the same limits: no exceptions, no run-time types, no libstdc++. The link is the test.
#include <millpond/core.hpp>
#include <millpond/local.hpp>

namespace {

alignas(65536) char memory[96 * 65536];

class static_source {
  public:
    static constexpr std::size_t preferred_chunk_bytes = 65536;

    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t start = millpond::detail::align_up(used_, alignment);
        if (start > sizeof memory || bytes > sizeof memory - start) return nullptr;
        used_ = start + bytes;
        return memory + start;
    }
    void* try_allocate_slab(std::size_t bytes, std::size_t alignment, std::size_t) noexcept {
        return try_allocate(bytes, alignment);
    }
    void deallocate(void*, std::size_t, std::size_t) noexcept {}

  private:
    std::size_t used_ = 0;
};

using pool_type = millpond::multipool<static_source, millpond::four_an_octave<8192>>;
pool_type pool;
millpond::monotonic<static_source> row;

}  // namespace

extern "C" void* freestanding_allocate(std::size_t bytes) { return pool.try_allocate(bytes, 16); }
extern "C" void freestanding_free(void* block, std::size_t bytes) { pool.deallocate(block, bytes, 16); }
extern "C" void freestanding_free_block(void* block, std::size_t block_bytes) {
    pool.deallocate_block(block, block_bytes);
}
extern "C" std::size_t freestanding_block_bytes(std::size_t bytes) { return pool_type::block_bytes(bytes, 16); }

int main() {
    for (std::size_t bytes = 0; bytes < 20000; bytes += 100) {
        void* const block = freestanding_allocate(bytes);
        if (block == nullptr || !millpond::detail::is_aligned(block, 16)) return 1;
        if (freestanding_block_bytes(bytes) != 0) {
            freestanding_free_block(block, freestanding_block_bytes(bytes));
        } else {
            freestanding_free(block, bytes);
        }
        if (row.try_allocate(bytes / 10, 8) == nullptr) return 2;
    }
    while (freestanding_allocate(8192) != nullptr) {
    }
    pool.release();
    row.release();
    return 0;
}
