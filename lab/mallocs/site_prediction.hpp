// SPDX-License-Identifier: BSL-1.0
// site_prediction: tells whether a malloc's call site is predicted, by a synthesis, to be short-lived.
//
//   (return address, size) ─▶ open addressing ─▶ leaf: short-lived
//                                           └─▶ node ─ step to the caller ─▶ node … leaf      up to four frames
//
// The table is made once, before the program starts: sites are offsets in modules, so each becomes an address of this
// run. Only modules that the program starts with count, because these are never unloaded: an address in the table
// always is the call that was recorded, and the rule by which to step to its caller is read once, with the table
// (frame_rule). So a request reads one slot of the table, and an ambiguous site takes a step for each further frame;
// nothing is locked or written. Sites of plugins are unknown, as are all sites if another build of the program runs;
// their blocks come from the size classes.
//
// Sites: as in classic/predicted_site.hpp. It is the Prediction of a classic::size_map. Any thread may ask, signal
// handlers too.
#pragma once

#include <link.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "millpond/classic/predicted_site.hpp"
#include "preload/call_site.hpp"
#include "preload/frame_rule.hpp"
#include "preload/frame_walk.hpp"

namespace millpond::mallocs {

template <class Sites>
class site_prediction {
    static constexpr bool walks = [] {
        for (const classic::predicted_site& each : Sites::sites)
            if (each.depth > 1) return true;
        return false;
    }();

  public:
    // The information that malloc needs about its caller. It includes the stack only if some site has several frames.
    using call_site = std::conditional_t<walks, preload::call_site, preload::return_site>;

    static constexpr unsigned chunks = Sites::chunks;
    [[nodiscard]] static constexpr bool asks(std::size_t bytes) noexcept {
        for (const classic::predicted_site& each : Sites::sites)
            if (each.bytes == bytes) return true;
        return false;
    }

    [[nodiscard]] static bool is_short(std::size_t bytes, const call_site& site) noexcept {
        const std::uint64_t key = key_of(site.return_address, bytes);
        for (std::size_t i = slot_of(key);; i = (i + 1) % table_.size()) {
            const slot& each = table_[i];
            if (each.key == key) [[likely]]
                return each.node == 0 || is_leaf(each.node, site);
            if (each.key == 0) return false;
        }
    }

    // Called once, before the program runs.
    static void start() noexcept {
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void*) noexcept {
                note_module(*info);
                return 0;
            },
            nullptr);
        for (const classic::predicted_site& each : Sites::sites) add(each);
    }

  private:
    static constexpr std::size_t nodes_max = [] {
        std::size_t most = 1;
        for (const classic::predicted_site& each : Sites::sites) most += each.depth;
        return most;
    }();

    // A frame of some sites. A frame without a child ends a site.
    struct node {
        std::uintptr_t address = 0;
        preload::frame_rule rule{};
        std::uint32_t child = 0, sibling = 0;
    };
    struct slot {
        std::uint64_t key = 0;
        std::uint32_t node = 0;  // 0: this frame is enough
    };

    // Addresses of programs have 47 bits.
    static std::uint64_t key_of(std::uintptr_t address, std::size_t bytes) noexcept {
        return address ^ (bytes + 15) / 16 << 48;
    }
    static std::size_t slot_of(std::uint64_t key) noexcept {
        return key * 0x9e3779b97f4a7c15U >> (64 - std::bit_width(table_.size() - 1));
    }

    static bool is_leaf(std::uint32_t number, const call_site& site) noexcept {
        if constexpr (walks)
            return is_leaf_after_steps(number, site);
        else
            return false;
    }
    [[gnu::noinline]] static bool is_leaf_after_steps(std::uint32_t number, const call_site& site) noexcept
        requires walks
    {
        preload::frame_state frame{site.return_address, site.stack, site.frame, 0};
        while (nodes_[number].child != 0) {
            if (!preload::step(frame, nodes_[number].rule)) return false;
            number = nodes_[number].child;
            while (number != 0 && nodes_[number].address != frame.return_address) number = nodes_[number].sibling;
            if (number == 0) return false;
        }
        return true;
    }

    // ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────

    static const char* last_part(const char* path) noexcept {
        const char* const slash = strrchr(path, '/');
        return slash != nullptr ? slash + 1 : path;
    }
    static void note_module(const dl_phdr_info& info) noexcept {
        char program[4096];
        const char* path = info.dlpi_name;
        if (path == nullptr || *path == 0) {  // the program itself, and the kernel's page
            const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
            if (length <= 0 || has_program_) return;
            has_program_ = true;
            program[length] = 0;
            path = program;
        }
        for (std::size_t i = 0; i < Sites::modules.size(); ++i)
            if (bias_[i] == unknown && strcmp(last_part(path), Sites::modules[i]) == 0) bias_[i] = info.dlpi_addr;
    }

    static void add(const classic::predicted_site& site) noexcept {
        for (unsigned i = 0; i < site.depth; ++i)
            if (bias_[site.frames[i].module] == unknown) return;
        const auto address_of = [&](unsigned i) { return bias_[site.frames[i].module] + site.frames[i].offset; };
        const std::uint64_t key = key_of(address_of(0), site.bytes);
        std::size_t i = slot_of(key);
        while (table_[i].key != 0 && table_[i].key != key) i = (i + 1) % table_.size();
        if (table_[i].key == 0) table_[i] = {key, site.depth > 1 ? node_of(address_of(0), 0) : 0};
        std::uint32_t last = table_[i].node;
        for (unsigned depth = 1; depth < site.depth; ++depth) {
            std::uint32_t next = nodes_[last].child;
            while (next != 0 && nodes_[next].address != address_of(depth)) next = nodes_[next].sibling;
            if (next == 0) {
                next = node_of(address_of(depth), nodes_[last].child);
                nodes_[last].child = next;
            }
            last = next;
        }
    }
    static std::uint32_t node_of(std::uintptr_t address, std::uint32_t sibling) noexcept {
        nodes_[used_] = {address, preload::frame_rule::compute(address), 0, sibling};
        return used_++;
    }

    static constexpr std::uintptr_t unknown = ~std::uintptr_t{0};
    static constinit inline std::array<std::uintptr_t, Sites::modules.size()> bias_ = [] {
        std::array<std::uintptr_t, Sites::modules.size()> none{};
        for (std::uintptr_t& each : none) each = unknown;
        return none;
    }();
    static constinit inline bool has_program_ = false;
    static constinit inline std::uint32_t used_ = 1;  // nodes; 0 stands for no node
    static constinit inline std::array<node, nodes_max> nodes_{};
    // At most a quarter full: most sites that are not in it find an empty slot at once.
    static constinit inline std::array<slot, std::bit_ceil(4 * Sites::sites.size())> table_{};
};

}  // namespace millpond::mallocs
