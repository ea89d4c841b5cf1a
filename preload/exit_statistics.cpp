// SPDX-License-Identifier: BSL-1.0
#include "preload/exit_statistics.hpp"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "preload/environment.hpp"
#include "preload/system.hpp"

namespace millpond::preload {
namespace {

[[gnu::format(printf, 1, 2)]] void write_line(const char* format, ...) noexcept {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0 && static_cast<std::size_t>(length) < sizeof line) system_call(SYS_write, 2, line, length);
}

}  // namespace

bool exit_statistics::are_wanted() noexcept {
    enum : int { unknown, unwanted, wanted };
    static constinit int known = unknown;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == unknown) {
        answer = is_switched_on("MILLPOND_STATS") ? wanted : unwanted;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == wanted;
}

void exit_statistics::say(const char* name, const classic::heap_record& record) noexcept {
    const classic::heap_use& use = record.use;
    write_line("millpond %s: %zu blocks in %zu bytes, %zu free in %zu bytes, %zu bytes used, %zu bytes held\n", name,
               use.blocks, use.block_bytes, use.free_blocks, use.free_bytes, use.used_bytes, use.held_bytes);
    write_line(
        "millpond %s: %zu lists with free blocks, the longest of %zu, %.0f %% of the free bytes outside the "
        "largest block\n",
        name, record.lists, record.longest_list, 100 * record.external_fragmentation());
}

void exit_statistics::say_list(const char* name, std::size_t bytes, std::size_t cached, std::size_t behind) noexcept {
    write_line("millpond %s: list of %zu bytes: %zu blocks in threads' caches, %zu behind them\n", name, bytes, cached,
               behind);
}

void exit_statistics::say(const char* name, const char* part, const classic::operation_counts& counts) noexcept {
    write_line("millpond %s%s: %" PRIu64 " allocations of %" PRIu64 " bytes in %" PRIu64 ", %" PRIu64 " frees, %" PRIu64
               " blocks searched, %" PRIu64 " splits, %" PRIu64 " coalesces, %" PRIu64 " growths, %" PRIu64
               " insertions into %" PRIu64 " nodes on %" PRIu64 " pages\n",
               name, part, counts.allocations, counts.requested_bytes, counts.block_bytes, counts.deallocations,
               counts.searched_blocks, counts.splits, counts.coalesces, counts.growths, counts.insertions,
               counts.relinked_nodes, counts.relinked_pages);
}

void exit_statistics::say_arena(const char* name, const classic::operation_counts& counts,
                                unsigned held_chunks) noexcept {
    write_line("millpond %s: in the arena %" PRIu64 " of these blocks, %" PRIu64 " bytes in %" PRIu64 ", %" PRIu64
               " frees, %u chunks held\n",
               name, counts.allocations, counts.requested_bytes, counts.block_bytes, counts.deallocations, held_chunks);
}

}  // namespace millpond::preload
