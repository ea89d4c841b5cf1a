// SPDX-License-Identifier: BSL-1.0
// misuse: an error that checked found in a program, the line that reports it, and the handler that is called with it.
//
//   millpond: double free: block of 24 bytes at 0x5581a0 was given back before; allocated at 0x…(app+0x1a2b), …
//             └ name of the kind     └ the block               └ what happened          └ sites (call_site.hpp)
//
// The default handler writes the line to standard error and aborts. Set misuse_handler to go on instead: the call that
// found the misuse then does only what is still safe, and the block in question counts as given back. The handler must
// not throw, and must not use the allocator of the misuse, which is locked meanwhile.
//
// Thread-safety: set the handler before the first thread starts; it may be called by several threads at once.
//
// Example:
//     static int seen = 0;
//     millpond::misuse_handler = [](const millpond::misuse&) { ++seen; };
//     millpond::checked<millpond::multipool<>> pool;
//     void* block = pool.allocate(24, 8);
//     pool.deallocate(block, 24, 8);
//     pool.deallocate(block, 24, 8);
//     assert(seen == 1);
//     millpond::misuse_handler = &millpond::report_misuse;
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "../core/abi.hpp"
#include "call_site.hpp"

namespace millpond::inline MILLPOND_ABI {

enum class misuse_kind : unsigned char {
    double_free,          // a block was given back twice
    overrun,              // bytes behind a block were written
    underrun,             // bytes before a block were written
    use_after_free,       // a block was written after it was given back
    use_after_reset,      // a block was written or given back after reset …
    use_after_release,    // … release …
    use_after_rewind,     // … or a rewind to an older checkpoint
    wrong_size,           // a block was given back with another size
    wrong_alignment,      // a block was given back with another alignment
    foreign_pointer,      // the pointer given back is no block of this allocator
    other_allocator,      // the pointer given back is a block of another checked allocator
    destroyed_allocator,  // an allocator, or a block of it, was used after its destructor
    invalid_alignment,    // a requested alignment is not a power of two
    invalid_checkpoint,   // rewind to a place that is no longer there
    leak,                 // blocks are live where none should be
    owner_winked_out,     // a destructor that wink_out skips frees memory elsewhere
    two_threads,          // calls of two threads overlap in an allocator for one
    dropped_object,       // an object was used after wink_out had dropped it
    null_pointer,         // a pointer that must not be null is
    different_sources,    // an allocator absorbed one with another source, or itself
    operator_deleted,     // a block of an allocator was given to operator delete or free
    foreign_iterator,     // a container was called with an iterator of another one, or with its end
    stale_iterator,       // an iterator was used after its container had changed
    unwritten_memory,     // a pointer was read from a block before one was written there
};

// Returns: the words with which a report begins, such as "double free".
[[nodiscard]] constexpr const char* name_of(misuse_kind kind) noexcept {
    constexpr const char* names[] = {"double free",
                                     "overrun",
                                     "underrun",
                                     "use after free",
                                     "use after reset",
                                     "use after release",
                                     "use after rewind",
                                     "wrong size",
                                     "wrong alignment",
                                     "foreign pointer",
                                     "other allocator",
                                     "destroyed allocator",
                                     "invalid alignment",
                                     "invalid checkpoint",
                                     "leak",
                                     "wink-out of an owner",
                                     "two threads at once",
                                     "dropped object",
                                     "null pointer",
                                     "different sources",
                                     "operator delete",
                                     "foreign iterator",
                                     "stale iterator",
                                     "unwritten memory"};
    return names[static_cast<unsigned char>(kind)];
}

struct misuse {
    misuse_kind kind;
    const void* block = nullptr;  // its start; for foreign pointers the pointer given back; else null
    bool is_known = false;        // bytes and alignment are those of the block, not of the call
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    char details[200] = "";  // what happened, in words and numbers
    call_site allocated_at{};
    call_site ended_at{};     // the free, reset, release or rewind
    call_site detected_at{};  // the call that found it

    // Effects: writes the whole line, without a line break, into `text`.
    void write(char* text, std::size_t size) const noexcept {
        std::size_t used = 0;
        const auto add = [&](auto... parts) {
            const int written = std::snprintf(text + used, size - used, parts...);
            used += written < 0 ? 0 : static_cast<std::size_t>(written);
            if (used >= size) used = size - 1;
        };
        add("millpond: %s: ", name_of(kind));
        if (is_known) add("block of %zu bytes aligned to %zu at %p ", bytes, alignment, block);
        add("%s", details);
        const char* separator = "; ";
        const auto add_site = [&](const char* word, const call_site& site) {
            if (!site) return;
            char place[200];
            site.write(place, sizeof place);
            add("%s%s %s", separator, word, place);
            separator = ", ";
        };
        add_site("allocated at", allocated_at);
        add_site(kind == misuse_kind::double_free || kind == misuse_kind::use_after_free ? "freed at" : "gone at",
                 ended_at);
        add_site("detected at", detected_at);
    }
};

using misuse_function = void(const misuse& what);

// Effects: reports the misuse on standard error and aborts.
inline void report_misuse(const misuse& what) {
    char line[1200];
    what.write(line, sizeof line);
    std::fprintf(stderr, "%s\n", line);
    std::abort();
}

// Called for every misuse that is found.
inline misuse_function* misuse_handler = &report_misuse;

}  // namespace millpond::inline MILLPOND_ABI

namespace millpond::inline MILLPOND_ABI::detail {

// Effects: reports a misuse that concerns no block.
inline void report_use(misuse_kind kind, const char* what) {
    misuse found{.kind = kind};
    std::snprintf(found.details, sizeof found.details, "%s", what);
    misuse_handler(found);
}

}  // namespace millpond::inline MILLPOND_ABI::detail
