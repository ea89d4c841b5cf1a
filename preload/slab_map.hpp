// SPDX-License-Identifier: BSL-1.0
// slab_map: finds the pool of any address, and the size of its block, for malloc-like layers whose free has no size.
//
//   owners, one a slab │ pool, block │ … ▸  notes ▸  slabs │ slab 64 KiB │ slab │ … frontier ▸  free addresses
//   extents of 1, 2, … 32 slabs (2 MiB), aligned to their size, split and merged as buddies, lowest part first;
//   a pool takes extents that double, so that neighbouring slabs mostly belong to one pool
//
// owner_of is one comparison and one load, takes no lock, and may run at the same time as everything else. The caller
// must serialise take, assign and give_back. Nothing here allocates or needs a C++ library, so it can be used below
// malloc.
//
// Nothing is reserved. The map chooses a place in the middle of a wide gap that neither the kernel nor the program uses
// by itself, and maps memory at its frontier when it is taken. So the size of the process, RLIMIT_AS, RLIMIT_DATA and
// strict overcommit count only what is used, and a step that is impossible fails. A mapping that lies in the way is
// never replaced: the map ends there, and take returns null. Steps follow one another, so the kernel keeps them as one
// mapping. Extents for huge pages lie among the others and stay huge when they come back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/machine.hpp"

namespace millpond::preload {

struct slab_owner {
    std::uint32_t block_bytes = 0;  // 0: the slab has no owner
    std::uint16_t pool = 0;
    std::uint8_t size_class = 0;  // the owner's name for the class
};

// A slab_owner in the map's own format.
struct packed_owner {
    static constexpr unsigned pool_shift = 32, class_shift = 56;

    std::uint64_t word = 0;

    static packed_owner of(slab_owner owner) noexcept {
        return {owner.block_bytes | std::uint64_t{owner.pool} << pool_shift |
                std::uint64_t{owner.size_class} << class_shift};
    }
    [[nodiscard]] std::uint32_t block_bytes() const noexcept { return static_cast<std::uint32_t>(word); }
    [[nodiscard]] std::uint16_t pool() const noexcept { return static_cast<std::uint16_t>(word >> pool_shift); }
    [[nodiscard]] std::uint8_t size_class() const noexcept { return static_cast<std::uint8_t>(word >> class_shift); }
    [[nodiscard]] slab_owner unpacked() const noexcept { return {block_bytes(), pool(), size_class()}; }
};

class slab_map {
  public:
    static constexpr std::size_t slab_bytes = std::size_t{64} << 10;
    static constexpr std::size_t extent_bytes_max = std::size_t{2} << 20;
    static constexpr std::uint32_t extent_slabs_max = extent_bytes_max / slab_bytes;

    constexpr slab_map() noexcept = default;
    slab_map(const slab_map&) = delete;
    slab_map& operator=(const slab_map&) = delete;

    // Chooses a free range of up to `bytes_max` addresses, halving until one is found; maps nothing. False if not even
    // `bytes_min` is free; then every take fails and no address has an owner. Call once.
    bool place(std::size_t bytes_max, std::size_t bytes_min = extent_bytes_max) noexcept;
    // Gives all memory back to the system. For tests: a malloc keeps its map until the process ends.
    void unmap() noexcept;

    // Returns the owner of the slab in which `address` lies; block_bytes is 0 if it has no owner.
    [[nodiscard]] slab_owner owner_of(const void* address) const noexcept {
        return contains(address) ? owner_at(number_of(address)).unpacked() : slab_owner{};
    }
    // The same for a slab inside the map, by its number; the result stays packed in one register.
    [[nodiscard, gnu::always_inline]] packed_owner owner_at(std::size_t slab) const noexcept {
        return {__atomic_load_n(owners_ + slab, __ATOMIC_RELAXED)};
    }
    // Returns the number of the slab of an address inside the map.
    [[nodiscard, gnu::always_inline]] std::size_t number_of(const void* address) const noexcept {
        return offset_of(address) / slab_bytes;
    }
    // Returns whether `address` lies in memory that was given out from here at some time.
    [[nodiscard]] bool contains(const void* address) const noexcept {
        return offset_of(address) < __atomic_load_n(&accessible_bytes_, __ATOMIC_RELAXED);
    }

    // Takes a run of slabs of zeroed memory without an owner. `slabs` is rounded up to a power of two, and above an
    // extent or with `huge_pages` to whole extents. The run is aligned to its size, at most to an extent. Null if the
    // range is used up or the system refuses the memory; then nothing has changed.
    void* take(std::uint32_t slabs, bool huge_pages = false) noexcept;
    // Returns the number of slabs to which take rounds.
    [[nodiscard]] static std::uint32_t rounded(std::uint32_t slabs, bool huge_pages = false) noexcept;
    // Gives every slab of the run at `first` to `owner`; block_bytes 0 removes the owner.
    void assign(void* first, std::uint32_t slabs, slab_owner owner) noexcept;
    // Takes back any run of taken slabs, or for huge pages whole extents. Its contents are lost, its memory returns to
    // the system, and its addresses are used again.
    void give_back(void* first, std::uint32_t slabs) noexcept;

    // Effects: returns the addresses of all free slabs to the system, too, so that a limit of addresses no longer
    // counts them. A later take maps them again; if it finds other mappings there, it goes elsewhere. Huge extents
    // stay. Returns: the number of bytes.
    std::size_t unmap_free() noexcept;

    // Returns the class of the slab in which `address` lies, which must be inside the map; 0 if the slab has no owner.
    [[nodiscard, gnu::always_inline]] unsigned class_at(const void* address) const noexcept {
        return owner_at(number_of(address)).size_class();
    }
    // Memory for the owner's record of a slab, apart from the slab: words at the same place of every slab would compete
    // for one place in the cache, and a table's lines do not. Undefined until it is written after a take.
    static constexpr std::size_t note_bytes = 32;
    [[nodiscard]] void* note_of(const void* address) const noexcept { return note_at(number_of(address)); }
    [[nodiscard, gnu::always_inline]] void* note_at(std::size_t slab) const noexcept { return notes_ + slab; }
    // Returns the slab of a note.
    [[nodiscard]] char* slab_of(const void* its_note) const noexcept {
        return static_cast<char*>(address_of(static_cast<std::uint32_t>(static_cast<const note*>(its_note) - notes_)));
    }

    // A word for each page of a slab, in its note, for an owner that cuts slabs into pages. Pages are counted from the
    // first slab on, through all slabs. They are the map's own unit: the system's may be larger, up to a slab, and gets
    // back whole slabs only.
    static constexpr std::size_t page_bytes = 4096;
    static_assert(slab_bytes / page_bytes * sizeof(std::uint16_t) == note_bytes);
    static_assert(slab_bytes % machine::page_bytes_max == 0);
    [[nodiscard]] std::uint16_t* page_word(std::uint32_t page) const noexcept {
        return reinterpret_cast<std::uint16_t*>(notes_) + page;
    }
    [[nodiscard]] std::uint32_t page_of(const void* address) const noexcept {
        return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(address) - base_) / page_bytes);
    }
    [[nodiscard]] char* page_at(std::uint32_t page) const noexcept {
        return reinterpret_cast<char*>(base_ + page * page_bytes);
    }

    // Calls visit(first address, owner) for each slab that has an owner. Others may take and give back meanwhile.
    template <class Visit>
    void for_each_owned(Visit&& visit) const {
        const std::size_t slabs = accessible_bytes() / slab_bytes;
        for (std::size_t i = 0; i < slabs; ++i) {
            const slab_owner owner = packed_owner{__atomic_load_n(owners_ + i, __ATOMIC_RELAXED)}.unpacked();
            if (owner.block_bytes != 0) visit(address_of(static_cast<std::uint32_t>(i)), owner);
        }
    }

    // Returns the bytes below the frontier that are mapped: all except those of unmap_free.
    [[nodiscard]] std::size_t mapped_bytes() const noexcept {
        return accessible_bytes() - __atomic_load_n(&unmapped_bytes_, __ATOMIC_RELAXED);
    }

    // Returns the limit of the frontier.
    [[nodiscard]] std::size_t range_bytes() const noexcept { return range_bytes_; }
    [[nodiscard]] std::size_t accessible_bytes() const noexcept {
        return __atomic_load_n(&accessible_bytes_, __ATOMIC_RELAXED);
    }

  private:
    // Returns the bytes from the map's start to an address.
    [[nodiscard, gnu::always_inline]] std::size_t offset_of(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - base_;
    }
    static constexpr int orders = 6;  // 64 KiB … 2 MiB
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    // An entry of owners_: block bytes in the low half, pool above them, then two marks; the class at the top.
    static constexpr std::uint64_t huge_mark = std::uint64_t{1} << 48;
    static constexpr std::uint64_t free_mark = std::uint64_t{1}
                                               << 49;  // first slab of a free run; its order in bits 50-53
    static constexpr int order_shift = 50;
    static constexpr std::uint64_t unmapped_mark = std::uint64_t{1} << 54;  // marks a free run

    struct link {
        std::uint32_t next, previous;
    };
    // A note: in the first slab of a free run, the link; in a slab with an owner, the owner's record.
    struct alignas(note_bytes) note {
        link at;
    };

    [[nodiscard]] void* address_of(std::uint32_t index) const noexcept {
        return reinterpret_cast<void*>(base_ + index * slab_bytes);
    }
    void store(std::uint32_t index, std::uint64_t entry) noexcept {
        __atomic_store_n(owners_ + index, entry, __ATOMIC_RELAXED);
    }

    bool place_at(std::uintptr_t start, std::size_t bytes) noexcept;
    static bool grow_table(void* table, std::size_t& accessible, std::size_t needed) noexcept;
    bool make_accessible(std::size_t bytes) noexcept;
    void* take_frontier(std::uint32_t slabs, bool huge_pages) noexcept;
    // The kinds of free runs; only those of the first two are merged.
    enum class kind : std::uint8_t { mapped, unmapped, huge };
    void free_run(std::uint32_t index, std::uint32_t slabs) noexcept;
    [[nodiscard]] std::uint32_t& head_of(int order, kind of) noexcept;
    [[nodiscard]] static std::uint64_t entry_of(int order, kind of) noexcept;
    void push(std::uint32_t index, int order, kind of) noexcept;
    void unlink(std::uint32_t index, int order, kind of) noexcept;
    void insert_merged(std::uint32_t index, int order, kind of) noexcept;
    // Returns: the first slab of a run of that order, cut from the shortest that is long enough; `none` if no run is
    // long enough.
    std::uint32_t take_free(int wanted, kind of) noexcept;
    void* take_unmapped(int wanted) noexcept;

    std::uintptr_t base_ = 0;
    std::size_t accessible_bytes_ = 0;  // the frontier: below it owners_ can be read
    std::uint64_t* owners_ = nullptr;
    note* notes_ = nullptr;
    std::size_t range_bytes_ = 0;
    std::size_t owners_accessible_bytes_ = 0, notes_accessible_bytes_ = 0;
    std::uint32_t free_[orders] = {none, none, none, none, none, none};
    std::uint32_t unmapped_[orders] = {none, none, none, none, none, none};
    std::size_t unmapped_bytes_ = 0;
    std::uint32_t free_huge_ = none;  // whole extents
};

}  // namespace millpond::preload
