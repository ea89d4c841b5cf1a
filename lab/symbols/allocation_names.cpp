// SPDX-License-Identifier: BSL-1.0
#include "allocation_names.hpp"

#include <array>
#include <cctype>
#include <string>

namespace millpond::symbols {
namespace {

// Compared in lower case, without leading underscores and without trailing digits and underscores, so that one entry
// covers malloc, __malloc, sqlite3_malloc64 and luaM_malloc_. `*` stands for anything.
constexpr std::array function_patterns{
    // the family of malloc, under any prefix: xmalloc, g_malloc0, safesysmalloc, pool_alloc, CRYPTO_zalloc
    std::string_view{"*alloc"},
    std::string_view{"*alloc_n"},
    std::string_view{"*alloc0_n"},
    std::string_view{"*allocarray"},
    std::string_view{"*alloc_array"},
    std::string_view{"*alloc_zero"},
    std::string_view{"*alloczero"},
    std::string_view{"*alloc_or_die"},
    std::string_view{"*alloc_real"},
    std::string_view{"*alloc_impl"},
    std::string_view{"*alloc_internal"},
    std::string_view{"*alloc_bytes"},
    std::string_view{"*memalign"},
    std::string_view{"*mallocraw*"},
    std::string_view{"*reallocorfree"},
    std::string_view{"*reallocfinish"},
    // copies of bytes and strings: xstrdup, g_memdup2, xmlStrndup, xasprintf, Perl_savepvn
    std::string_view{"*strdup"},
    std::string_view{"*strndup"},
    std::string_view{"*memdup"},
    std::string_view{"*asprintf"},
    std::string_view{"*strdup_printf"},
    std::string_view{"*strdup_vprintf"},
    std::string_view{"savestring"},
    std::string_view{"*savepv"},
    std::string_view{"*savepvn"},
    std::string_view{"*savesharedpv*"},
    // growth of an obstack, on behalf of whoever fills it
    std::string_view{"*obstack_newchunk"},
    std::string_view{"*obstack_begin*"},
    std::string_view{"call_chunkfun"},
    // the object allocators of CPython
    std::string_view{"pyobject_new"},
    std::string_view{"pyobject_newvar"},
    std::string_view{"pyobject_gc_new"},
    std::string_view{"pyobject_gc_newvar"},
    std::string_view{"pyobject_gc_resize"},
};

// Members that allocate, where their class says that it is an allocator …
constexpr std::array member_names{
    std::string_view{"allocate"},        std::string_view{"try_allocate"},      std::string_view{"do_allocate"},
    std::string_view{"reallocate"},      std::string_view{"allocate_at_least"}, std::string_view{"allocate_bytes"},
    std::string_view{"allocate_object"}, std::string_view{"new_object"},        std::string_view{"alloc"}};
constexpr std::array allocator_types{std::string_view{"*alloc"}, std::string_view{"*allocator*"},
                                     std::string_view{"*resource"}};
// … and members and functions of namespaces that wrap malloc, whatever they belong to.
constexpr std::array member_patterns{std::string_view{"*malloc"}, std::string_view{"*calloc"},
                                     std::string_view{"*realloc"}, std::string_view{"*memalign"},
                                     std::string_view{"*strdup"}};

// `*` matches any run of characters; the patterns are short and hold two stars at most.
bool matches(std::string_view pattern, std::string_view text) noexcept {
    if (pattern.empty()) return text.empty();
    if (pattern.front() != '*') {
        return !text.empty() && text.front() == pattern.front() && matches(pattern.substr(1), text.substr(1));
    }
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
        if (matches(pattern.substr(1), text.substr(skipped))) return true;
    }
    return false;
}

template <std::size_t Count>
bool matches_any(const std::array<std::string_view, Count>& patterns, std::string_view text) noexcept {
    for (const std::string_view pattern : patterns) {
        if (matches(pattern, text)) return true;
    }
    return false;
}

std::string normal_form(std::string_view name) {
    const std::size_t first = name.find_first_not_of('_');
    if (first == std::string_view::npos) return {};
    name.remove_prefix(first);
    const std::size_t last = name.find_last_not_of("0123456789_");
    name = name.substr(0, last == std::string_view::npos ? 0 : last + 1);
    std::string normal(name);
    for (char& letter : normal) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return normal;
}

}  // namespace

bool is_allocation_function(std::string_view name) noexcept {
    return matches_any(function_patterns, normal_form(name));
}

bool is_allocation_member(std::string_view name, std::string_view type) noexcept {
    if (matches_any(member_patterns, normal_form(name))) return true;
    for (const std::string_view member : member_names) {
        if (name == member) return matches_any(allocator_types, normal_form(type.substr(0, type.find('<'))));
    }
    return false;
}

}  // namespace millpond::symbols
