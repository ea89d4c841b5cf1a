// SPDX-License-Identifier: BSL-1.0
#include "lab/references/code_table.hpp"

#include <cstddef>

#include "lab/references/reference.h"

namespace millpond::references {

namespace {

// The expansion copies these fields as one word.
static_assert(offsetof(millpond_access, root) == offsetof(millpond_reference, subject) &&
              offsetof(millpond_access, bytes) == offsetof(millpond_reference, bytes) &&
              offsetof(millpond_access, kind) == offsetof(millpond_reference, kind) &&
              sizeof(millpond_access) == sizeof(millpond_reference));

// The largest number of words in a record of the stream.
constexpr std::uint32_t parts_max = millpond_record_words_max - 1;

std::uint16_t part(trace::field_cursor& from, std::uint32_t before = 0) {
    const std::uint64_t count = before + std::uint64_t{from.small_number()};
    if (count > parts_max) throw trace::trace_error("a superblock has more parts than any can have");
    return static_cast<std::uint16_t>(count);
}

}  // namespace

void code_table::take_one(trace::field_cursor& from) {
    millpond_superblock block{};
    block.address = from.number();
    block.roots = part(from);
    block.exits = part(from);
    block.accesses = part(from);
    block.first_exit = view_.exit_count;
    block.first_access = view_.access_count;
    block.first_root = view_.root_count;
    std::vector<millpond_exit> exits;
    millpond_exit exit{};
    exit.first_access = block.first_access;
    exit.first_root = block.first_root;
    for (unsigned i = 0; i < block.exits; ++i) {
        exit.accesses = part(from, exit.accesses);
        exit.roots = part(from, exit.roots);
        exit.instructions = part(from, exit.instructions);
        exits.push_back(exit);
    }
    if (exit.accesses > block.accesses || exit.roots > block.roots)
        throw trace::trace_error("an exit has more than its superblock");
    std::vector<millpond_access> accesses;
    for (unsigned i = 0; i < block.accesses; ++i) {
        millpond_access access{};
        const std::uint32_t root = from.small_number();
        if (root > block.roots) throw trace::trace_error("an access names a root that its superblock does not have");
        access.root = static_cast<std::uint16_t>(root);
        access.offset = from.signed_number();
        access.bytes = static_cast<std::uint16_t>(from.small_number());
        const std::uint32_t kind = from.small_number();
        if ((kind & 3) > millpond_modify) throw trace::trace_error("an access is of an unknown kind");
        access.kind = kind & 3;
        access.guarded = kind >> 2 & 1;
        accesses.push_back(access);
    }
    // An exit counts the accesses before it, so their roots must also lie before it.
    for (const millpond_exit& one : exits)
        for (unsigned i = 0; i < one.accesses; ++i)
            if (accesses[i].root > one.roots)
                throw trace::trace_error("an exit lies before the root of one of its accesses");
    superblocks_.push_back(block);
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
    for (millpond_exit& one : exits) millpond_describe_exit(&one, accesses_.data());
    exits_.insert(exits_.end(), exits.begin(), exits.end());
    view_.root_count += block.roots;
}

void code_table::take(std::span<const std::uint8_t> payload, const mpt_block_header& header) {
    if (header.first != superblocks_.size()) throw trace::trace_error("superblocks are missing in front of this block");
    trace::field_cursor from(payload);
    const auto refresh = [this] {
        view_.superblocks = superblocks_.data();
        view_.exits = exits_.data();
        view_.accesses = accesses_.data();
        view_.superblock_count = static_cast<std::uint32_t>(superblocks_.size());
        view_.exit_count = static_cast<std::uint32_t>(exits_.size());
        view_.access_count = static_cast<std::uint32_t>(accesses_.size());
    };
    for (std::uint32_t i = 0; i < header.count; ++i) {
        take_one(from);
        refresh();
    }
}

}  // namespace millpond::references
