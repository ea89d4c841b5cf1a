// SPDX-License-Identifier: BSL-1.0
// rule_cache: a map from return address to frame_rule for the whole process, so that call-frame information is read
// once for each call site.
//
//   1024 slots │ 8192 slots │ 131072 slots      each made when the one before is full; 24 KiB to 3 MiB
//   slot │ return address │ rule │ number │     open addressing; an address is published after its rule
//
// The number belongs to the user; it is 0 until it is set. A small program pays for a small table: under a limit of
// addresses, 3 MiB may be most of the memory. find: lock-free, a few ns if cached. Rules of code that belongs to no
// file are never kept, because other code may come to lie there. forget(first, last) after an unload turns addresses
// into tombstones. Full tables stop caching and stay correct.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/frame_rule.hpp"
#include "preload/pages.hpp"

namespace millpond::preload {

class rule_cache {
  public:
    struct numbered_rule {
        frame_rule rule;
        std::uint32_t number;

        [[nodiscard]] std::uint32_t known_number() const noexcept { return __atomic_load_n(&number, __ATOMIC_RELAXED); }
        void set_number(std::uint32_t to) noexcept { __atomic_store_n(&number, to, __ATOMIC_RELAXED); }
    };

    [[nodiscard]] frame_rule find(std::uintptr_t return_address) noexcept {
        const slot* const s = find_slot(return_address);
        return s != nullptr ? s->kept.rule : compute(return_address);
    }
    // Returns the rule in the cache, valid as long as the cache, or `otherwise`, with a rule that is not kept. A number
    // set there is never that of another module's code at the same address.
    [[nodiscard, gnu::always_inline]] numbered_rule* find_numbered(std::uintptr_t return_address,
                                                                   numbered_rule& otherwise) noexcept {
        if (slot* const s = find_slot(return_address)) [[likely]]
            return &s->kept;
        otherwise = {compute(return_address), 0};
        return &otherwise;
    }

    void forget(std::uintptr_t first, std::uintptr_t last) noexcept {
        for (stage& each : stages_) {
            slot* const table = __atomic_load_n(&each.table, __ATOMIC_ACQUIRE);
            for (std::size_t i = 0; table != nullptr && i <= each.mask(); ++i) {
                const std::uintptr_t address = __atomic_load_n(&table[i].return_address, __ATOMIC_RELAXED);
                if (address > first && address <= last)
                    __atomic_store_n(&table[i].return_address, std::uintptr_t{tombstone}, __ATOMIC_RELEASE);
            }
        }
    }

    // Gives the memory back. No other thread may be inside.
    void clear() noexcept {
        for (stage& each : stages_) {
            give_pages(each.table, sizeof(slot) << each.bits);
            each.table = nullptr;
            each.used = 0;
        }
    }

  private:
    struct slot {
        std::uintptr_t return_address;
        numbered_rule kept;
    };
    [[nodiscard, gnu::always_inline]] slot* find_slot(std::uintptr_t return_address) noexcept {
        for (stage& each : stages_) {
            slot* const table = __atomic_load_n(&each.table, __ATOMIC_ACQUIRE);
            if (table == nullptr) break;
            for (std::size_t i = each.hash(return_address);; ++i) {
                slot& s = table[i & each.mask()];
                const std::uintptr_t address = __atomic_load_n(&s.return_address, __ATOMIC_ACQUIRE);
                if (address == return_address) [[likely]]
                    return &s;
                if (address == empty) break;
            }
        }
        return nullptr;
    }

    enum : std::uintptr_t { empty = 0, claimed = 1, tombstone = 2 };
    struct stage {
        unsigned bits;
        slot* table = nullptr;
        std::size_t used = 0;

        [[nodiscard]] std::size_t slots() const noexcept { return std::size_t{1} << bits; }
        [[nodiscard]] std::size_t mask() const noexcept { return slots() - 1; }
        [[nodiscard]] std::size_t hash(std::uintptr_t address) const noexcept {
            return (address * 0x9E3779B97F4A7C15u) >> (64 - bits);
        }
    };

    [[gnu::noinline, gnu::cold]] frame_rule compute(std::uintptr_t return_address) noexcept {
        const frame_rule rule = frame_rule::compute(return_address);
        if (rule.kind != frame_rule::no_module && return_address > tombstone) keep(return_address, rule);
        return rule;
    }

    void keep(std::uintptr_t return_address, frame_rule rule) noexcept {
        for (stage& each : stages_) {
            if (!has_table(each)) return;
            const std::size_t room = each.slots() / 4 * 3;
            if (__atomic_load_n(&each.used, __ATOMIC_RELAXED) < room &&
                __atomic_add_fetch(&each.used, 1, __ATOMIC_RELAXED) <= room)
                return keep_in(each, return_address, rule);
        }
    }

    static bool has_table(stage& where) noexcept {
        if (__atomic_load_n(&where.table, __ATOMIC_ACQUIRE) != nullptr) return true;
        slot* const fresh = take_pages<slot>(sizeof(slot) << where.bits);
        if (fresh == nullptr) return false;
        slot* seen = nullptr;
        if (!__atomic_compare_exchange_n(&where.table, &seen, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            give_pages(fresh, sizeof(slot) << where.bits);
        return true;
    }

    static void keep_in(stage& where, std::uintptr_t return_address, frame_rule rule) noexcept {
        for (std::size_t i = where.hash(return_address);; ++i) {
            slot& s = where.table[i & where.mask()];
            std::uintptr_t seen = empty;
            if (__atomic_compare_exchange_n(&s.return_address, &seen, std::uintptr_t{claimed}, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)) {
                s.kept.rule = rule;
                __atomic_store_n(&s.return_address, return_address, __ATOMIC_RELEASE);
                return;
            }
            if (seen == return_address) return;
        }
    }

    stage stages_[3] = {{10}, {13}, {17}};
};

}  // namespace millpond::preload
