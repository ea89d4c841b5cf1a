// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/allocation_names.hpp"

#include <array>
#include <cctype>
#include <string>

namespace millpond::symbols {
namespace {

// Names are compared in lower case, without leading underscores and without trailing digits and underscores, so that
// one entry covers malloc, __malloc, sqlite3_malloc64 and luaM_malloc_. `*` stands for any run of characters.
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
    // the same with a word behind that names a variant: zmalloc_usable, xmallocz_gently, palloc_extended,
    // av_mallocz_array
    std::string_view{"*alloc_usable"},
    std::string_view{"*alloc_usable_internal"},
    std::string_view{"*alloc_with_flags"},
    std::string_view{"*alloc_num"},
    std::string_view{"*alloc_no_tcache"},
    std::string_view{"*allocz"},
    std::string_view{"*allocz_gently"},
    std::string_view{"*allocz_array"},
    std::string_view{"*alloc_zero_array"},
    std::string_view{"*alloc_array_zero"},
    std::string_view{"*alloc_no_dtor"},
    std::string_view{"*alloc_clear"},
    std::string_view{"*alloc_id"},
    std::string_view{"*alloc_clear_id"},
    std::string_view{"*alloc_body"},
    std::string_view{"*alloc_mul_add"},
    std::string_view{"*alloc_mul_add_mul"},
    std::string_view{"*alloc_extended"},
    std::string_view{"*alloc_aligned"},
    std::string_view{"*alloc_huge"},
    std::string_view{"*alloc_large"},
    std::string_view{"*alloc_large_ex"},
    std::string_view{"*alloc_small"},
    std::string_view{"*alloc_small_slow"},
    std::string_view{"*alloc_heap"},
    std::string_view{"*alloc_int"},
    std::string_view{"*alloc_pages"},
    std::string_view{"*alloc_block"},
    std::string_view{"*alloc_locked"},
    std::string_view{"*alloc_debug"},
    std::string_view{"*alloc_multiply"},
    std::string_view{"*alloc_unguarded"},
    std::string_view{"*alloc_root"},
    std::string_view{"*reallocf"},
    std::string_view{"*realloc_f"},
    std::string_view{"*reallocp"},
    std::string_view{"*reallocp_array"},
    std::string_view{"*alloczeroaligned"},
    std::string_view{"*allocaligned"},
    std::string_view{"*allocextended"},
    std::string_view{"*allochuge"},
    std::string_view{"*alloclarge"},
    std::string_view{"*allocfromnewblock"},
    std::string_view{"*allocchunkfromblock"},
    std::string_view{"*allocloc"},
    std::string_view{"*mallocatomic"},
    std::string_view{"*mallocatomicloc"},
    std::string_view{"*mallocwithalarm"},
    std::string_view{"*allocwithretry"},
    // allocators inside of programs, by their full names
    std::string_view{"luam_growaux"},
    std::string_view{"luam_shrinkvector"},
    std::string_view{"lj_mem_grow"},
    std::string_view{"lj_alloc_f"},
    std::string_view{"mem_heap_add_block"},
    std::string_view{"mem_heap_create_block*"},
    std::string_view{"perl_get_arena"},
    std::string_view{"perl_more_bodies"},
    std::string_view{"s_more_sv"},
    std::string_view{"allocate_from_new_pool"},
    std::string_view{"allocate_vectorlike"},
    std::string_view{"allocate_vector_from_block"},
    std::string_view{"allocate_vector_block"},
    std::string_view{"allocate_string_data"},
    std::string_view{"slab_allocator_alloc_chunk"},
    std::string_view{"g_slice_copy"},
    std::string_view{"gs_*alloc_*"},
    std::string_view{"i_alloc_*"},
    std::string_view{"alloc_acquire_clump"},
    std::string_view{"talloc_array"},
    std::string_view{"talloc_zero"},
    std::string_view{"talloc_zero_array"},
    std::string_view{"talloc_named*"},
    std::string_view{"talloc_with_prefix"},
    std::string_view{"acquiremagickmemory"},
    std::string_view{"acquirequantummemory"},
    std::string_view{"acquirealignedmemory"},
    std::string_view{"resizemagickmemory"},
    std::string_view{"resizequantummemory"},
    // copies of bytes and strings: xstrdup, g_memdup2, xmlStrndup, xasprintf, Perl_savepvn
    std::string_view{"*strdup"},
    std::string_view{"*strndup"},
    std::string_view{"*memdup"},
    std::string_view{"*asprintf"},
    std::string_view{"*strdup_printf"},
    std::string_view{"*strdup_vprintf"},
    std::string_view{"*strdupv"},
    std::string_view{"*strduploc"},
    std::string_view{"*strdup_root"},
    std::string_view{"*strmake_root"},
    std::string_view{"*memdup_root"},
    std::string_view{"*wcsdup"},
    std::string_view{"*memdupz"},
    std::string_view{"*strmemdup"},
    std::string_view{"*strsave"},
    std::string_view{"*strnsave"},
    std::string_view{"*maprintf"},
    std::string_view{"*mvaprintf"},
    std::string_view{"sqlite3*mprintf"},
    std::string_view{"psprintf"},
    std::string_view{"apr_psprintf"},
    std::string_view{"apr_pvsprintf"},
    std::string_view{"apr_pstrcat"},
    std::string_view{"g_strconcat"},
    std::string_view{"xstrfmt"},
    std::string_view{"xstrvfmt"},
    std::string_view{"ztrdup"},
    std::string_view{"ztrduppfx"},
    std::string_view{"dupstring"},
    std::string_view{"dupstring_wlen"},
    std::string_view{"savestring"},
    std::string_view{"*savesvpv"},
    std::string_view{"*savepv"},
    std::string_view{"*savepvn"},
    std::string_view{"*savesharedpv*"},
    // growth of an obstack, for its caller
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

// Names that end like those above but do something else.
constexpr std::array other_patterns{
    std::string_view{"*dealloc"},         std::string_view{"*dealloc_int*"},   std::string_view{"*unalloc"},
    std::string_view{"*test_*alloc*"},    std::string_view{"*bench_*alloc*"},  std::string_view{"*benchmark_*alloc*"},
    std::string_view{"*init_*alloc*"},    std::string_view{"*need_*alloc"},    std::string_view{"*needs_*alloc"},
    std::string_view{"*should_*alloc"},   std::string_view{"*can_*alloc"},     std::string_view{"*before_*alloc"},
    std::string_view{"*after_*alloc"},    std::string_view{"*print_*alloc*"},  std::string_view{"*report_*alloc*"},
    std::string_view{"*dump_*alloc*"},    std::string_view{"*_stats_*alloc*"}, std::string_view{"*free_*alloc*"},
    std::string_view{"gs_*alloc_fill"},   std::string_view{"gs_*alloc_init"},  std::string_view{"gs_*alloc_limit*"},
    std::string_view{"gs_*alloc_status*"}};

// Members that allocate, if their class is an allocator by its name …
constexpr std::array member_names{
    std::string_view{"allocate"},        std::string_view{"try_allocate"},      std::string_view{"do_allocate"},
    std::string_view{"reallocate"},      std::string_view{"allocate_at_least"}, std::string_view{"allocate_bytes"},
    std::string_view{"allocate_object"}, std::string_view{"new_object"},        std::string_view{"alloc"},
    std::string_view{"allocslow"},       std::string_view{"allocblock"},        std::string_view{"arrayalloc"}};
constexpr std::array allocator_types{std::string_view{"*alloc"},    std::string_view{"*allocator*"},
                                     std::string_view{"*resource"}, std::string_view{"mem_root"},
                                     std::string_view{"*arena"},    std::string_view{"zone"}};
// … and members and functions of namespaces that wrap malloc, in any class or namespace.
constexpr std::array member_patterns{std::string_view{"*malloc"}, std::string_view{"*calloc"},
                                     std::string_view{"*realloc"}, std::string_view{"*memalign"},
                                     std::string_view{"*strdup"}};

// `*` matches any run of characters; the patterns are short and hold at most three stars.
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
    const std::string normal = normal_form(name);
    return matches_any(function_patterns, normal) && !matches_any(other_patterns, normal);
}

bool is_allocation_member(std::string_view name, std::string_view type) noexcept {
    const std::string normal = normal_form(name);
    if (matches_any(member_patterns, normal)) return !matches_any(other_patterns, normal);
    for (const std::string_view member : member_names) {
        if (normal == member) return matches_any(allocator_types, normal_form(type.substr(0, type.find('<'))));
    }
    return false;
}

}  // namespace millpond::symbols
