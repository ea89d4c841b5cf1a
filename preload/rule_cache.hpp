// SPDX-License-Identifier: BSL-1.0
// rule_cache: return address → frame_rule, for the whole process, so that call-frame information is read once for each
// call site.
//
//   slot │ return address │ rule │     open addressing; an address is published after its rule
//
// find: lock-free, a few ns when cached. Rules of code that belongs to no file are never kept, for anything may come to
// lie there. forget(first, last) after an unload turns addresses into tombstones. Full tables stop caching and stay
// correct.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/frame_rule.hpp"
#include "preload/pages.hpp"

namespace millpond::preload {

class rule_cache {
  public:
    [[nodiscard]] frame_rule find(std::uintptr_t return_address) noexcept {
        slot* const table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        if (table != nullptr) [[likely]] {
            for (std::size_t i = hash(return_address);; ++i) {
                slot& s = table[i & mask];
                const std::uintptr_t address = __atomic_load_n(&s.return_address, __ATOMIC_ACQUIRE);
                if (address == return_address) [[likely]]
                    return s.rule;
                if (address == empty) break;
            }
        }
        return compute(return_address);
    }

    void forget(std::uintptr_t first, std::uintptr_t last) noexcept {
        slot* const table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        for (std::size_t i = 0; table != nullptr && i <= mask; ++i) {
            const std::uintptr_t address = __atomic_load_n(&table[i].return_address, __ATOMIC_RELAXED);
            if (address > first && address <= last)
                __atomic_store_n(&table[i].return_address, std::uintptr_t{tombstone}, __ATOMIC_RELEASE);
        }
    }

  private:
    struct slot {
        std::uintptr_t return_address;
        frame_rule rule;
    };
    enum : std::uintptr_t { empty = 0, claimed = 1, tombstone = 2 };
    static constexpr unsigned bits = 17;
    static constexpr std::size_t mask = (std::size_t{1} << bits) - 1;
    static constexpr std::size_t room = (std::size_t{1} << bits) / 4 * 3;

    static std::size_t hash(std::uintptr_t address) noexcept { return (address * 0x9E3779B97F4A7C15u) >> (64 - bits); }

    [[gnu::noinline, gnu::cold]] frame_rule compute(std::uintptr_t return_address) noexcept {
        const frame_rule rule = frame_rule::compute(return_address);
        if (rule.kind != frame_rule::no_module && return_address > tombstone) keep(return_address, rule);
        return rule;
    }

    void keep(std::uintptr_t return_address, frame_rule rule) noexcept {
        slot* table = __atomic_load_n(&table_, __ATOMIC_ACQUIRE);
        if (table == nullptr) {
            slot* const fresh = take_pages<slot>(sizeof(slot) << bits);
            if (fresh == nullptr) return;
            if (__atomic_compare_exchange_n(&table_, &table, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                table = fresh;
            else
                give_pages(fresh, sizeof(slot) << bits);
        }
        if (__atomic_add_fetch(&used_, 1, __ATOMIC_RELAXED) > room) return;
        for (std::size_t i = hash(return_address);; ++i) {
            slot& s = table[i & mask];
            std::uintptr_t seen = empty;
            if (__atomic_compare_exchange_n(&s.return_address, &seen, std::uintptr_t{claimed}, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)) {
                s.rule = rule;
                __atomic_store_n(&s.return_address, return_address, __ATOMIC_RELEASE);
                return;
            }
            if (seen == return_address) return;
        }
    }

    slot* table_ = nullptr;
    std::size_t used_ = 0;
};

}  // namespace millpond::preload
