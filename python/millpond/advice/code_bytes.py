# SPDX-License-Identifier: BSL-1.0
"""The functions of a written C++ header that replace new, malloc, realloc, free and delete.

Blocks have no head wherever possible, so that the memory is what the trial measured. A free finds the size:

- by address: in a pool of the process, as in the trial, each slab has blocks of one size.
- by size: in a pool that several threads share, or an arena of a phase, the caller passes the size.
- by head: in an arena of calls or of threads, 16 bytes before each block name its arena and size.
"""

from __future__ import annotations

from millpond.advice.code_freeing import Replacements, shares_places
from millpond.advice.code_homes import PHASE, PROCESS, AdvisedAllocator, C

ADDRESS, SIZE, HEAD = "address", "size", "head"


def found_by(home: AdvisedAllocator) -> str:
    """Returns ADDRESS, SIZE or HEAD: the way in which a free learns the size of a block."""
    if home.language == C:
        return ADDRESS
    if home.kind == PROCESS:
        return SIZE if home.several_threads and not shares_places(home) else ADDRESS
    return SIZE if home.kind == PHASE else HEAD


def replacements_of(home: AdvisedAllocator) -> Replacements:
    """Returns the functions of an allocator's header for places that free."""
    if home.language == C:
        name = home.name
        return Replacements(f"{name}_free_any", f"{name}_resize_any", f"{name}_owns", f"{name}_free", f"{name}_resize")
    space, how = home.space, found_by(home)
    sized = (f"{space}::deallocate_bytes", f"{space}::resize_bytes")
    if how == SIZE:
        return Replacements("", "", "", *sized, destroy=f"{space}::destroy")
    by_address = (f"{space}::free_bytes", f"{space}::resize_bytes")
    owns = f"{space}::owns" if how == ADDRESS else ""
    if how == HEAD:
        sized = by_address
    return Replacements(*by_address, owns, *sized, destroy=f"{space}::destroy")


POOL_BY_ADDRESS = """\
// Slabs of 64 KiB, each of blocks of one size, in extents of 2 MiB: the address of a block tells its size.
class slabs {
  public:
    static constexpr std::size_t preferred_chunk_bytes = std::size_t{64} << 10;
    static constexpr bool has_long_slabs = true;

    [[nodiscard]] void* try_allocate_slab(std::size_t bytes, std::size_t, std::size_t block_bytes) noexcept {
        tables& own = only();
        const std::size_t wanted = (bytes + preferred_chunk_bytes - 1) / preferred_chunk_bytes * preferred_chunk_bytes;
        if (static_cast<std::size_t>(own.last - own.next) < wanted && !own.take_chunk()) return nullptr;
        char* const first = own.next;
        for (std::size_t at = 0; at < wanted; at += preferred_chunk_bytes) {
            std::atomic<std::uint32_t>* const size = own.size_at(first + at, true);
            if (size == nullptr) return nullptr;
            size->store(static_cast<std::uint32_t>(block_bytes), std::memory_order_relaxed);
        }
        own.next += wanted;
        return first;
    }
    // Serves blocks above the largest class, which do not lie in slabs.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    }
    void deallocate(void* block, std::size_t, std::size_t alignment) noexcept {
        if (block_bytes_at(block) == 0) ::operator delete(block, std::align_val_t{alignment});
    }

    // Returns the size of the blocks in the address's slab; 0 if the address is in no slab of the pool.
    [[nodiscard]] static std::size_t block_bytes_at(const void* address) noexcept {
        const std::atomic<std::uint32_t>* const size = only().size_at(address, false);
        return size != nullptr ? size->load(std::memory_order_relaxed) : 0;
    }

  private:
    static constexpr std::size_t extent_bytes = std::size_t{2} << 20, table_size = 8192;
    using extent = std::array<std::atomic<std::uint32_t>, extent_bytes / preferred_chunk_bytes>;
    using extent_table = std::array<std::atomic<extent*>, table_size>;

    struct tables {
        std::array<std::atomic<extent_table*>, table_size> by_address{};
        char *next = nullptr, *last = nullptr;
        std::size_t chunk_extents = 1;  // the size of the next chunk

        bool take_chunk() noexcept {
            const std::size_t bytes = chunk_extents * extent_bytes;
            next = static_cast<char*>(::operator new(bytes, std::align_val_t{extent_bytes}, std::nothrow));
            last = next != nullptr ? next + bytes : nullptr;
            if (next != nullptr && chunk_extents < 32) chunk_extents *= 2;
            return next != nullptr;
        }
        // Returns the table entry of an address's slab; null if it does not exist, or if there is no memory to make it.
        std::atomic<std::uint32_t>* size_at(const void* address, bool make) noexcept {
            const std::uintptr_t slab = reinterpret_cast<std::uintptr_t>(address) / preferred_chunk_bytes;
            const std::uintptr_t number = slab / std::tuple_size_v<extent>;
            if (number / table_size >= table_size) return nullptr;
            extent_table* const table = of(by_address[number / table_size], make);
            extent* const its = table != nullptr ? of((*table)[number % table_size], make) : nullptr;
            return its != nullptr ? &(*its)[slab % std::tuple_size_v<extent>] : nullptr;
        }
        template <class T>
        static T* of(std::atomic<T*>& place, bool make) noexcept {
            T* known = place.load(std::memory_order_acquire);
            if (known == nullptr && make) {
                known = new (std::nothrow) T{};
                place.store(known, std::memory_order_release);
            }
            return known;
        }
    };

    [[nodiscard]] static tables& only() noexcept {
        static tables& made = *new tables;
        return made;
    }
};

// Larger blocks come from malloc.
inline constexpr std::size_t pooled_bytes_max = std::size_t{32} << 10;"""


_LIVE = """\
// The blocks of the pool with their sizes, for checked mode: there, blocks do not lie in slabs, so the address does not
// tell their size.
#if defined(MILLPOND_CHECKED)
struct asked_for {
    std::size_t bytes, alignment;
};
class live_blocks {
  public:
    static live_blocks& all() {
        static live_blocks& only = *new live_blocks;
        return only;
    }
    void add(const void* block, asked_for what) {
        const std::lock_guard lock(mutex_);
        blocks_[block] = what;
    }
    // Returns the requested size and alignment; zeros if the block is not from the pool.
    asked_for find(const void* block, bool forget) {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(block);
        if (found == blocks_.end()) return {0, 0};
        const asked_for what = found->second;
        if (forget) blocks_.erase(found);
        return what;
    }

  private:
    std::mutex mutex_;
    std::map<const void*, asked_for> blocks_;
};
#endif

// Allocates a block that is aligned as malloc's blocks are, and to `alignment`.
[[nodiscard]] inline void* take_block(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t usual = bytes <= 8 ? 8 : 16;
    const std::size_t aligned = alignment > usual ? alignment : usual;
    if (bytes > pooled_bytes_max) {
        if (aligned <= 16) return std::malloc(bytes);
        return std::aligned_alloc(aligned, (bytes + aligned - 1) / aligned * aligned);
    }
    void* const block = pool().try_allocate(bytes, aligned);
#if defined(MILLPOND_CHECKED)
    if (block != nullptr) live_blocks::all().add(block, {bytes, aligned});
#endif
    return block;
}

[[nodiscard]] inline bool owns([[maybe_unused]] const void* block) noexcept {
#if defined(MILLPOND_CHECKED)
    return live_blocks::all().find(block, false).alignment != 0;
#else
    return slabs::block_bytes_at(block) != 0;
#endif
}

// Replaces free, for blocks of the pool and of malloc.
inline void free_bytes(void* block) noexcept {
#if defined(MILLPOND_CHECKED)
    const asked_for what = live_blocks::all().find(block, true);
    if (what.alignment != 0) return pool().deallocate(block, what.bytes, what.alignment);
    if (slabs::block_bytes_at(block) != 0) return pool().deallocate(block, 1, 1);  // a misuse, which is reported
#else
    if (const std::size_t bytes = slabs::block_bytes_at(block)) return pool().deallocate(block, bytes, 1);
#endif
    std::free(block);
}"""

MAKE_BY_ADDRESS = (
    _LIVE
    + """

// Replace `new T(…)` and `delete p`. An object may be deleted through a base that has a virtual destructor.
template <class T, class... Arguments>
[[nodiscard]] T* make(Arguments&&... arguments) {
    void* const place = take_block(sizeof(T), alignof(T));
    if (place == nullptr) throw std::bad_alloc();
    struct guard {
        void* place;
        ~guard() {
            if (place != nullptr) free_bytes(place);
        }
    } unfinished{place};
    T* object;
    if constexpr (std::is_constructible_v<T, Arguments...>)
        object = ::new (place) T(std::forward<Arguments>(arguments)...);
    else
        object = ::new (place) T{std::forward<Arguments>(arguments)...};
    unfinished.place = nullptr;
    return object;
}

template <class T>
void destroy(T* object) noexcept {
    if (object == nullptr) return;
    void* block;
    if constexpr (std::is_polymorphic_v<T>)
        block = const_cast<void*>(dynamic_cast<const void*>(object));
    else
        block = const_cast<std::remove_cv_t<T>*>(object);
    object->~T();
    free_bytes(block);
}"""
)

_RESIZE_BY_SIZE = """\
[[nodiscard]] inline void* resize_bytes(void* block, std::size_t held, std::size_t bytes) noexcept {
    void* const moved = allocate_bytes(bytes);
    if (block == nullptr || moved == nullptr) return moved;
    std::memcpy(moved, block, held < bytes ? held : bytes);
    deallocate_bytes(block, held);
    return moved;
}"""

BYTES_BY_ADDRESS = (
    """\
// Replaces malloc; returns null if there is no memory.
[[nodiscard]] inline void* allocate_bytes(std::size_t bytes) noexcept { return take_block(bytes, 1); }

// Replaces free if the requested size is known. Blocks that resize_bytes(block, bytes) has resized need free_bytes.
inline void deallocate_bytes(void* block, std::size_t bytes) noexcept {
    if (block == nullptr) return;
    if (bytes > pooled_bytes_max) return std::free(block);
#if defined(MILLPOND_CHECKED)
    static_cast<void>(live_blocks::all().find(block, true));
#endif
    pool().deallocate(block, bytes, bytes <= 8 ? 8 : 16);
}

// Replaces realloc, for blocks of the pool and of malloc. Moves a block that would be mostly empty, unless it is small.
[[nodiscard]] inline void* resize_bytes(void* block, std::size_t bytes) noexcept {
#if defined(MILLPOND_CHECKED)
    const asked_for what = live_blocks::all().find(block, false);
    if (what.alignment == 0) return std::realloc(block, bytes);
    const std::size_t held = what.bytes;
#else
    const std::size_t held = slabs::block_bytes_at(block);
    if (held == 0) return std::realloc(block, bytes);
#endif
    if (bytes <= held && (bytes >= held / 4 || held <= 128)) return block;
    void* const moved = allocate_bytes(bytes);
    if (moved == nullptr) return bytes <= held ? block : nullptr;
    std::memcpy(moved, block, held < bytes ? held : bytes);
    free_bytes(block);
    return moved;
}

// The same if the requested size is known.
"""
    + _RESIZE_BY_SIZE
)

BYTES_BY_SIZE = (
    """\
// Replace malloc, realloc and free. Blocks have no head, so a caller that frees or resizes one passes the requested
// size. Return null if there is no memory.
[[nodiscard]] inline void* allocate_bytes(std::size_t bytes) noexcept {
    return pool().try_allocate(bytes, bytes <= 8 ? 8 : 16);
}

inline void deallocate_bytes(void* block, std::size_t bytes) noexcept {
    if (block != nullptr) pool().deallocate(block, bytes, bytes <= 8 ? 8 : 16);
}

"""
    + _RESIZE_BY_SIZE
)

BYTES_BY_HEAD = """\
// Replace malloc, realloc and free. A block may be freed in another call than the one whose arena it is from, so 16
// bytes before each block hold its size and arena. The trial had no such head.
struct alignas(16) block_head {
    std::size_t units;
    allocator<block_head> from;
};

[[nodiscard]] inline void* allocate_bytes(std::size_t bytes) {
    const std::size_t units = 1 + (bytes + sizeof(block_head) - 1) / sizeof(block_head);
    allocator<block_head> from;
    return ::new (static_cast<void*>(from.allocate(units))) block_head{units, from} + 1;
}

inline void free_bytes(void* block) noexcept {
    if (block == nullptr) return;
    block_head* const head = static_cast<block_head*>(block) - 1;
    allocator<block_head> from = head->from;
    from.deallocate(head, head->units);
}

[[nodiscard]] inline void* resize_bytes(void* block, std::size_t bytes) {
    void* const moved = allocate_bytes(bytes);
    if (block != nullptr) {
        const std::size_t held = ((static_cast<block_head*>(block) - 1)->units - 1) * sizeof(block_head);
        std::memcpy(moved, block, held < bytes ? held : bytes);
        free_bytes(block);
    }
    return moved;
}"""
