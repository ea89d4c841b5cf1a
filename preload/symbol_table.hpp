// SPDX-License-Identifier: BSL-1.0
// symbol_table: the dynamic symbols of a loaded module, as the dynamic linker reads them. An entry can be changed, so
// that later look-ups of its name find another function.
//
//   look-up of malloc ─▶ hash ─▶ entry of the C library ─▶ its malloc        move("malloc", ours) ─▶ ours
//
// The module must stay loaded. It needs a DT_GNU_HASH table, as every common linker makes. find, move: O(entries of one
// bucket). move changes the protection of the entry's page for a moment, so calls must not overlap. Allocates nothing.
#pragma once

#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#include "preload/module_segments.hpp"

namespace millpond::preload {

class symbol_table {
  public:
    explicit symbol_table(const link_map& of) noexcept : bias_(of.l_addr), segments_(of) {
        if (of.l_ld == nullptr) return;
        for (const ElfW(Dyn)* each = of.l_ld; each->d_tag != DT_NULL; ++each) {
            if (each->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<ElfW(Sym)*>(address_of(*each));
            if (each->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address_of(*each));
            if (each->d_tag == DT_GNU_HASH) hash_ = reinterpret_cast<const std::uint32_t*>(address_of(*each));
        }
    }

    // Returns the address in an entry of the dynamic section. The dynamic linker has added the module's place, unless
    // the section is read-only.
    [[nodiscard]] std::uintptr_t address_of(const ElfW(Dyn) & entry) const noexcept {
        return entry.d_un.d_ptr < bias_ ? entry.d_un.d_ptr + bias_ : entry.d_un.d_ptr;
    }

    // Returns the address of the function that the module defines by this name; null if it defines none.
    [[nodiscard]] void* find(const char* name) const noexcept {
        void* found = nullptr;
        for_each(name, [&](const ElfW(Sym) & symbol) {
            found = reinterpret_cast<void*>(bias_ + symbol.st_value);
            return true;
        });
        return found;
    }

    // Returns the name of a symbol by its number; "" without a table.
    [[nodiscard]] const char* name_of(std::uint32_t number) const noexcept {
        return symbols_ == nullptr || names_ == nullptr ? "" : names_ + symbols_[number].st_name;
    }

    // Makes all versions of the function point to `address`. Returns false if the table cannot be changed.
    bool move(const char* name, const void* address) noexcept {
        if (symbols_ == nullptr || names_ == nullptr || hash_ == nullptr) return false;
        bool moved = true;
        for_each(name, [&](ElfW(Sym) & symbol) {
            moved = segments_.store(&symbol.st_value, reinterpret_cast<std::uintptr_t>(address) - bias_);
            return !moved;
        });
        return moved;
    }

  private:
    // Calls visit(symbol) for each definition of the name, until that returns true.
    template <class Visit>
    void for_each(const char* name, const Visit& visit) const noexcept {
        if (symbols_ == nullptr || names_ == nullptr || hash_ == nullptr) return;
        std::uint32_t hash = 5381;
        for (const char* at = name; *at != 0; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
        const std::uint32_t bucket_count = hash_[0], first = hash_[1], bloom_words = hash_[2];
        constexpr std::uint32_t halves = sizeof(ElfW(Addr)) / sizeof(std::uint32_t);
        const std::uint32_t* const buckets = hash_ + 4 + std::size_t{bloom_words} * halves;
        const std::uint32_t* const chains = buckets + bucket_count;
        for (std::uint32_t i = buckets[hash % bucket_count]; i >= first && i != 0; ++i) {
            const std::uint32_t chain = chains[i - first];
            const bool is_defined = symbols_[i].st_shndx != SHN_UNDEF && symbols_[i].st_value != 0;
            if ((chain | 1) == (hash | 1) && is_defined && strcmp(names_ + symbols_[i].st_name, name) == 0 &&
                visit(symbols_[i]))
                return;
            if ((chain & 1) != 0) break;
        }
    }

    std::uintptr_t bias_;
    module_segments segments_;
    ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    const std::uint32_t* hash_ = nullptr;
};

}  // namespace millpond::preload
