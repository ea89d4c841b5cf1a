// SPDX-License-Identifier: BSL-1.0
// ideal: allocators that do only the indispensable work, as a lower bound for all contenders.
//
//   ideal_bump        │a│bb│cccc│dd│▒▒▒▒▒▒▒     a pointer and its end; nothing comes back before restart()
//   ideal_free_list   a list for each power of two, last in first out; fresh blocks from an ideal_bump
//   ideal_nodes       one list, exact spacing, rows that double: for the many small pools of lists_shuffled
//
// Unsynchronised, on 4 KiB pages; they keep their chunks. Not for real use: the only error they handle is lack of
// memory, and they return nothing before the process ends.
// allocate, deallocate: O(1). The static binding (ideal_allocator) is the cheapest possible: it carries no pointer.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace millpond::library {

class ideal_bump {
  public:
    static constexpr bool takes_all_back = true;

    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        const std::uintptr_t block = (next_ + alignment - 1) & ~(alignment - 1);
        if (block + bytes > end_) [[unlikely]]
            return from_next_chunk(bytes, alignment);
        next_ = block + bytes;
        return reinterpret_cast<void*>(block);
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = try_allocate(bytes, alignment);
        if (block == nullptr) [[unlikely]]
            throw std::bad_alloc();
        return block;
    }
    void deallocate(void*, std::size_t, std::size_t) noexcept {}

    // Effects: starts again in the first chunk.
    void restart() noexcept {
        used_ = 0;
        next_ = end_ = 0;
        if (!chunks_.empty()) use(chunks_[used_++]);
    }

    // Returns: the bytes of all ideal allocators of the process.
    [[nodiscard]] static std::uint64_t held_bytes() noexcept { return held_; }

  private:
    static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

    struct chunk {
        std::uintptr_t begin;
        std::size_t bytes;
    };

    void use(const chunk& next) noexcept {
        next_ = next.begin;
        end_ = next.begin + next.bytes;
    }

    [[gnu::noinline, gnu::cold]] void* from_next_chunk(std::size_t bytes, std::size_t alignment) noexcept {
        while (used_ < chunks_.size()) {
            const chunk& kept = chunks_[used_++];
            if (kept.bytes < bytes + alignment) continue;
            use(kept);
            return try_allocate(bytes, alignment);
        }
        const std::size_t wanted = (bytes + alignment + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
        void* const memory = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        ::madvise(memory, wanted, MADV_NOHUGEPAGE);
        held_ += wanted;
        chunks_.push_back({reinterpret_cast<std::uintptr_t>(memory), wanted});
        ++used_;
        use(chunks_.back());
        return try_allocate(bytes, alignment);
    }

    std::uintptr_t next_ = 0;
    std::uintptr_t end_ = 0;
    std::size_t used_ = 0;
    std::vector<chunk> chunks_;
    static inline std::uint64_t held_ = 0;
};

class ideal_free_list {
  public:
    static constexpr bool takes_all_back = false;

    void* try_allocate(std::size_t bytes, std::size_t) noexcept {
        const int power = power_of(bytes);
        if (link* const block = lists_[power]; block != nullptr) {
            lists_[power] = block->next;
            return block;
        }
        const std::size_t whole = std::size_t{1} << power;
        return fresh_.try_allocate(whole, whole < 64 ? whole : 64);
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = try_allocate(bytes, alignment);
        if (block == nullptr) [[unlikely]]
            throw std::bad_alloc();
        return block;
    }
    void deallocate(void* block, std::size_t bytes, std::size_t) noexcept {
        link*& list = lists_[power_of(bytes)];
        list = ::new (block) link{list};
    }
    // Does nothing: a new structure finds all blocks in the lists, because the one before has freed them.
    void restart() noexcept {}

  private:
    struct link {
        link* next;
    };
    static int power_of(std::size_t bytes) noexcept { return static_cast<int>(std::bit_width((bytes - 1) | 7)); }

    link* lists_[48] = {};
    ideal_bump fresh_;
};

class ideal_nodes {
  public:
    void* try_allocate(std::size_t bytes, std::size_t) noexcept {
        if (link* const block = freed_; block != nullptr) {
            freed_ = block->next;
            return block;
        }
        if (static_cast<std::size_t>(end_ - next_) < bytes) {
            next_ = static_cast<char*>(rows_.try_allocate(row_bytes_, alignof(std::max_align_t)));
            if (next_ == nullptr) return nullptr;
            end_ = next_ + row_bytes_;
            if (row_bytes_ < largest_row_bytes) row_bytes_ *= 2;
        }
        void* const block = next_;
        next_ += bytes;
        return block;
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
        void* const block = try_allocate(bytes, alignment);
        if (block == nullptr) throw std::bad_alloc();
        return block;
    }
    void deallocate(void* block, std::size_t, std::size_t) noexcept { freed_ = ::new (block) link{freed_}; }

  private:
    struct link {
        link* next;
    };
    static constexpr std::size_t largest_row_bytes = std::size_t{64} << 10;

    link* freed_ = nullptr;
    char* next_ = nullptr;
    char* end_ = nullptr;
    std::size_t row_bytes_ = 24 * 16;
    static inline ideal_bump rows_;
};

// The only pool of a kind that ideal_allocator reaches.
template <class Pool>
inline Pool ideal_pool;

template <class T, class Pool>
struct ideal_allocator {
    using value_type = T;
    ideal_allocator() = default;
    template <class U>
    ideal_allocator(const ideal_allocator<U, Pool>&) noexcept {}
    T* allocate(std::size_t n) { return static_cast<T*>(ideal_pool<Pool>.allocate(n * sizeof(T), alignof(T))); }
    void deallocate(T* objects, std::size_t n) noexcept {
        ideal_pool<Pool>.deallocate(objects, n * sizeof(T), alignof(T));
    }
    friend bool operator==(const ideal_allocator&, const ideal_allocator&) noexcept { return true; }
};

}  // namespace millpond::library
