// SPDX-License-Identifier: BSL-1.0
// The allocation wrappers of well-known programs own nothing; names that look like them do.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "lab/symbols/allocation_names.hpp"
#include "lab/symbols/owner.hpp"

namespace millpond::symbols {
namespace {

struct program {
    const char* name;
    std::vector<const char*> wrappers, others;
};

const std::vector<program> programs{
    {"redis",
     {"zmalloc", "zcalloc", "zrealloc", "ztrymalloc", "zmalloc_usable", "zcalloc_usable", "zrealloc_usable",
      "ztrymalloc_usable", "ztrymalloc_usable_internal", "ztryrealloc_usable_internal", "zcalloc_num",
      "zmalloc_no_tcache", "zstrdup"},
     {"zmalloc_used_memory", "zmalloc_get_rss", "zmalloc_set_oom_handler", "zmalloc_size", "zfree"}},
    {"git",
     {"xmalloc", "do_xmalloc", "xmallocz", "xmallocz_gently", "xcalloc", "xrealloc", "xmemdupz", "xstrdup", "xstrndup",
      "xstrfmt", "xstrvfmt", "mem_pool_alloc", "mem_pool_calloc", "mem_pool_strdup", "mem_pool_alloc_block"},
     {"mem_pool_init", "mem_pool_discard", "realloc_index", "strbuf_grow", "alloc_report"}},
    {"gcc, binutils (libiberty)",
     {"xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "xasprintf", "xvasprintf",
      "ggc_internal_alloc", "ggc_internal_cleared_alloc", "ggc_internal_alloc_no_dtor", "ggc_realloc", "_obstack_begin",
      "_obstack_newchunk"},
     {"xmalloc_failed", "xmalloc_set_program_name", "alloc_page_table", "init_ggc_alloc", "make_node"}},
    {"coreutils, grep, sed (gnulib)",
     {"xmalloc", "xnmalloc", "xzalloc", "xizalloc", "xicalloc", "ximalloc", "xpalloc", "x2realloc", "x2nrealloc",
      "xnrealloc", "xreallocarray", "xireallocarray", "xcharalloc", "xmemdup", "ximemdup0", "xstrdup", "ireallocarray"},
     {"xalloc_die", "xalloc_oversized", "hash_insert", "xalloc_count"}},
    {"glib",
     {"g_malloc",       "g_malloc0",       "g_malloc_n",       "g_malloc0_n",     "g_realloc",
      "g_realloc_n",    "g_try_malloc",    "g_try_malloc0_n",  "g_try_realloc_n", "g_slice_alloc",
      "g_slice_alloc0", "g_slice_copy",    "g_aligned_alloc",  "g_strdup",        "g_strndup",
      "g_strdupv",      "g_strdup_printf", "g_strdup_vprintf", "g_memdup2",       "g_strconcat"},
     {"g_slice_set_config", "g_slice_free1", "g_list_alloc_links", "g_malloc_stats", "g_array_maybe_expand"}},
    {"perl",
     {"Perl_safesysmalloc", "Perl_safesyscalloc", "Perl_safesysrealloc", "Perl_malloc", "Perl_savepv", "Perl_savepvn",
      "Perl_savesharedpv", "Perl_savesvpv", "Perl_more_bodies", "S_more_sv"},
     {"Perl_sv_grow", "Perl_newSVpvn", "Perl_safesysfree", "Perl_sv_setsv_flags"}},
    {"python",
     {"PyMem_Malloc",     "PyMem_Calloc",        "PyMem_Realloc",          "PyMem_RawMalloc",
      "_PyMem_RawMalloc", "_PyMem_DebugMalloc",  "_PyMem_DebugRawAlloc",   "_PyMem_Strdup",
      "_PyMem_RawWcsdup", "PyObject_Malloc",     "_PyObject_Malloc",       "PyObject_Calloc",
      "PyObject_Realloc", "pymalloc_alloc",      "allocate_from_new_pool", "_PyObject_GC_Malloc",
      "_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_New",          "PyType_GenericAlloc"},
     {"list_dealloc", "_Py_Dealloc", "PyObject_Free", "PyMem_SetAllocator", "_PyMem_SetDefaultAllocator", "list_resize",
      "PyDict_New"}},
    {"php",
     {"_emalloc", "_ecalloc", "_erealloc", "_erealloc2", "_safe_emalloc", "_safe_erealloc", "_estrdup", "_estrndup",
      "_emalloc_56", "_emalloc_large", "_emalloc_huge", "__zend_malloc", "zend_mm_alloc_heap", "zend_mm_alloc_small",
      "zend_mm_alloc_small_slow", "zend_mm_alloc_pages", "zend_mm_chunk_alloc", "zend_arena_alloc"},
     {"zend_alloc_ce_cache", "zend_mm_startup", "zend_mm_gc", "zend_hash_add"}},
    {"ruby",
     {"ruby_xmalloc", "ruby_xmalloc2", "ruby_xcalloc", "ruby_xrealloc2", "ruby_xmalloc_body", "objspace_xmalloc0",
      "objspace_xrealloc", "rb_xmalloc_mul_add", "rb_xrealloc_mul_add", "ruby_strdup", "rb_gc_impl_malloc"},
     {"rb_define_alloc_func", "rb_undef_alloc_func", "objspace_malloc_increase", "ruby_malloc_size_overflow",
      "rb_str_new"}},
    {"lua",
     {"l_alloc", "luaM_malloc_", "luaM_realloc_", "luaM_saferealloc_", "luaM_growaux_", "luaM_shrinkvector_",
      "lj_alloc_malloc", "lj_mem_realloc", "lj_mem_grow"},
     {"luaH_resize", "luaM_toobig", "luaM_free_", "reallocstack_error", "luaS_new"}},
    {"sqlite",
     {"sqlite3Malloc",      "sqlite3MallocZero",      "sqlite3_malloc64",    "sqlite3_realloc64", "sqlite3MemMalloc",
      "sqlite3DbMallocRaw", "sqlite3DbMallocRawNN",   "sqlite3DbMallocZero", "dbMallocRawFinish", "dbReallocFinish",
      "sqlite3DbRealloc",   "sqlite3DbReallocOrFree", "sqlite3DbStrDup",     "sqlite3DbStrNDup",  "mallocWithAlarm",
      "sqlite3PageMalloc",  "pcache1Alloc",           "sqlite3_mprintf",     "sqlite3VMPrintf",   "sqlite3MPrintf"},
     {"sqlite3MallocInit", "sqlite3MallocSize", "sqlite3MallocMutex", "sqlite3MallocEnd", "sqlite3_memory_alarm",
      "sqlite3BtreeOpen"}},
    {"postgres",
     {"palloc",
      "palloc0",
      "palloc_extended",
      "palloc_aligned",
      "repalloc",
      "repalloc_huge",
      "MemoryContextAlloc",
      "MemoryContextAllocZero",
      "MemoryContextAllocZeroAligned",
      "MemoryContextAllocHuge",
      "MemoryContextAllocExtended",
      "MemoryContextStrdup",
      "AllocSetAlloc",
      "AllocSetAllocLarge",
      "AllocSetAllocFromNewBlock",
      "AllocSetRealloc",
      "GenerationAlloc",
      "SlabAlloc",
      "pstrdup",
      "pnstrdup",
      "psprintf",
      "pg_malloc",
      "pg_malloc0",
      "pg_malloc_extended",
      "pg_strdup"},
     {"AllocSetContextCreateInternal", "AllocSetReset", "AllocSetDelete", "AllocSetStats",
      "MemoryContextAllocationFailure", "MemoryContextMemAllocated"}},
    {"nginx",
     {"ngx_alloc", "ngx_calloc", "ngx_memalign", "ngx_palloc", "ngx_pnalloc", "ngx_pcalloc", "ngx_pmemalign",
      "ngx_palloc_small", "ngx_palloc_large", "ngx_palloc_block", "ngx_slab_alloc", "ngx_slab_alloc_locked",
      "ngx_slab_alloc_pages", "ngx_pstrdup"},
     {"ngx_slab_init", "ngx_create_pool", "ngx_reset_pool", "ngx_array_push"}},
    {"apache (apr)",
     {"apr_palloc", "apr_pcalloc", "apr_palloc_debug", "apr_allocator_alloc", "apr_pstrdup", "apr_pstrndup",
      "apr_pstrmemdup", "apr_pmemdup", "apr_psprintf", "apr_pvsprintf", "apr_pstrcat"},
     {"apr_allocator_create", "apr_allocator_max_free_set", "apr_pool_create_ex", "apr_table_set"}},
    {"openssl",
     {"CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_calloc", "CRYPTO_realloc", "CRYPTO_clear_realloc", "CRYPTO_strdup",
      "CRYPTO_strndup", "CRYPTO_memdup", "CRYPTO_secure_malloc", "CRYPTO_aligned_alloc", "CRYPTO_malloc_array",
      "sh_malloc", "BUF_strdup"},
     {"CRYPTO_set_mem_functions", "CRYPTO_secure_malloc_init", "CRYPTO_secure_malloc_done", "CRYPTO_secure_allocated",
      "CRYPTO_get_alloc_counts", "EVP_MD_CTX_new"}},
    {"curl",
     {"curl_dbg_malloc", "curl_dbg_calloc", "curl_dbg_realloc", "curl_dbg_strdup", "curl_dbg_wcsdup",
      "Curl_saferealloc", "Curl_memdup", "Curl_memdup0", "Curl_strndup", "curl_maprintf", "curl_mvaprintf"},
     {"curl_dbg_memlimit", "curl_global_init_mem", "Curl_dyn_add", "curl_easy_init"}},
    {"ffmpeg",
     {"av_malloc",        "av_mallocz",        "av_calloc",
      "av_realloc",       "av_realloc_f",      "av_reallocp",
      "av_realloc_array", "av_reallocp_array", "av_malloc_array",
      "av_mallocz_array", "av_strdup",         "av_strndup",
      "av_memdup",        "av_asprintf",       "av_fast_malloc",
      "av_fast_mallocz",  "av_fast_realloc",   "av_fast_padded_malloc",
      "av_buffer_alloc",  "av_buffer_allocz"},
     {"avcodec_alloc_context3", "avformat_alloc_context", "av_buffer_pool_init", "av_malloc_limit_set"}},
    {"libxml2, libxslt",
     {"xmlMallocAtomic", "xmlMemMalloc", "xmlMemRealloc", "xmlMallocLoc", "xmlReallocLoc", "xmlMallocAtomicLoc",
      "xmlMemStrdupLoc", "xmlMemoryStrdup", "xmlStrdup", "xmlStrndup", "xmlCharStrdup"},
     {"xmlMallocBreakpoint", "xmlMemSetup", "xmlSetBufferAllocationScheme", "xmlNewNode", "xmlInitMemory"}},
    {"bash",
     {"xmalloc", "xrealloc", "sh_xmalloc", "sh_xrealloc", "savestring", "internal_malloc", "sh_malloc"},
     {"allocerr", "memory_error_and_abort", "alloc_word_desc", "realloc_jobs_list", "xmalloc_error"}},
    {"vim",
     {"alloc", "alloc_clear", "alloc_id", "alloc_clear_id", "lalloc", "lalloc_clear", "lalloc_id", "mem_realloc",
      "vim_strsave", "vim_strnsave"},
     {"alloc_tabpage", "alloc_cmdbuff", "realloc_cmdbuff", "win_alloc_lines", "ga_grow"}},
    {"emacs",
     {"xmalloc", "xzalloc", "xrealloc", "xnmalloc", "xnrealloc", "xpalloc", "lisp_malloc", "lmalloc", "lrealloc",
      "lisp_align_malloc", "allocate_vectorlike", "allocate_string_data", "dupstring", "xlispstrdup"},
     {"malloc_warning", "memory_full", "allocate_kboard", "allocate_process", "Fcons"}},
    {"tmux, OpenBSD's tools",
     {"xmalloc", "xcalloc", "xrealloc", "xreallocarray", "xrecallocarray", "recallocarray", "xstrdup", "xstrndup",
      "xasprintf", "xvasprintf"},
     {"grid_expand_line", "window_create", "recalloc_needed"}},
    {"zsh",
     {"zalloc", "zhalloc", "zshcalloc", "zrealloc", "hcalloc", "hrealloc", "ztrdup", "ztrduppfx", "dupstring",
      "dupstring_wlen"},
     {"pushheap", "switch_heaps", "zsfree", "newlinklist"}},
    {"mysql",
     {"my_malloc", "my_realloc", "my_strdup", "my_strndup", "my_memdup", "my_raw_malloc", "my_multi_malloc",
      "alloc_root", "multi_alloc_root", "strdup_root", "strmake_root", "memdup_root", "sql_alloc", "sql_strdup",
      "mem_heap_zalloc", "mem_heap_add_block"},
     {"init_alloc_root", "reset_root_defaults", "free_root", "alloc_root_inited", "my_init"}},
    {"talloc, systemd, jq, ImageMagick, ghostscript",
     {"_talloc_zero", "_talloc_array", "talloc_strdup", "talloc_named_const", "_talloc_memdup", "malloc_multiply",
      "greedy_realloc", "greedy_realloc0", "jv_mem_alloc", "jv_mem_calloc", "jv_mem_strdup", "AcquireMagickMemory",
      "AcquireQuantumMemory", "ResizeQuantumMemory", "gs_alloc_bytes", "gs_heap_alloc_bytes", "i_alloc_struct",
      "alloc_acquire_clump"},
     {"talloc_report_full", "_talloc_free", "jv_object", "AcquireImage", "gs_heap_alloc_status", "gx_path_alloc_copy"}},
    {"anything else",
     {"malloc", "__libc_malloc", "uv__malloc", "uv__calloc", "uv__strdup", "uv__reallocf", "png_calloc", "SDL_malloc",
      "pool_alloc", "Tcl_Alloc", "TclpRealloc"},
     {"realloc_table", "malloc_stats_print", "allocate_order", "allocate", "test_malloc", "bench_calloc",
      "init_realloc_hook", "needs_realloc", "should_realloc", "print_alloc", "after_malloc", "alloc_count",
      "allocation_site", "reallocate_seats", "free_unused_alloc"}},
};

TEST(allocation_wrappers, well_known_wrappers_own_nothing) {
    EXPECT_GE(programs.size(), 20u);
    for (const program& p : programs) {
        for (const char* name : p.wrappers) {
            EXPECT_TRUE(is_allocation_function(name)) << p.name << ": " << name;
            EXPECT_TRUE(own(name).standard) << p.name << ": " << name;
        }
    }
}

TEST(allocation_wrappers, are_not_names_that_only_look_like_them) {
    for (const program& p : programs) {
        for (const char* name : p.others) {
            EXPECT_FALSE(is_allocation_function(name)) << p.name << ": " << name;
            EXPECT_FALSE(own(name).allocation) << p.name << ": " << name;
        }
    }
}

TEST(allocation_wrappers, among_members_are_those_of_allocators) {
    for (const char* name : {"MEM_ROOT::Alloc(unsigned long)", "MEM_ROOT::AllocSlow(unsigned long)",
                             "v8::internal::Zone::Allocate(unsigned long)", "node::UncheckedMalloc(unsigned long)",
                             "node::Realloc(char*, unsigned long)", "google::protobuf::Arena::Allocate(unsigned long)",
                             "rocksdb::ConcurrentArena::Allocate(unsigned long)", "WTF::fastMalloc(unsigned long)",
                             "leveldb::Arena::Allocate(unsigned long)"})
        EXPECT_TRUE(own_demangled(name).allocation) << name;
    for (const char* name : {"v8::internal::Zone::DeleteAll()", "seat_map::allocate(int)", "parser::alloc(int)",
                             "ns::tuple_dealloc(object*)", "planner::reallocate(order&)",
                             "leveldb::Arena::MemoryUsage()", "node::Environment::Alloc(int)", "shop::test_malloc()"})
        EXPECT_FALSE(own_demangled(name).allocation) << name;
}

}  // namespace
}  // namespace millpond::symbols
