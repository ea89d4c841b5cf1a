// SPDX-License-Identifier: BSL-1.0
// millpond: the whole library as a C++20 module, an experiment. It exports the public names; macros stay with the headers.
//
// Example:
//     import millpond;
//
//     millpond::multipool<> pool;
module;

#include <millpond/millpond.hpp>

export module millpond;

export namespace millpond {
using millpond::allocate_unique;
using millpond::allocation;
using millpond::allocation_counts;
using millpond::allocator;
using millpond::allocator_like;
using millpond::arena;
using millpond::basic_compact_pool;
using millpond::basic_pooled;
using millpond::basic_region;
using millpond::basic_reservation;
using millpond::basic_suballocator;
using millpond::block_source;
using millpond::byte_limit;
using millpond::call_site;
using millpond::checked;
using millpond::checks;
using millpond::chunk_cache;
using millpond::class_map;
using millpond::commit_steps;
using millpond::compact_pool;
using millpond::compact_pool_stats;
using millpond::counted;
using millpond::counted_map;
using millpond::counted_multimap;
using millpond::counted_multiset;
using millpond::counted_set;
using millpond::dyn_array;
using millpond::erase;
using millpond::erase_if;
using millpond::exact_spacing;
using millpond::expect_empty;
using millpond::file_region;
using millpond::first_chunk;
using millpond::fixed_buffer;
using millpond::fixed_chunk_source;
using millpond::four_an_octave;
using millpond::has_lasting_source;
using millpond::in_mode;
using millpond::initial_buffer;
using millpond::is_binding;
using millpond::is_checked_mode;
using millpond::is_for_one_thread;
using millpond::is_thread_safe_source;
using millpond::is_winkable;
using millpond::is_winkable_container;
using millpond::is_winkable_v;
using millpond::limit_function;
using millpond::limited;
using millpond::managed_allocator;
using millpond::max_class_alignment;
using millpond::misuse;
using millpond::misuse_function;
using millpond::misuse_handler;
using millpond::misuse_kind;
using millpond::monotonic;
using millpond::multipool;
using millpond::name_of;
using millpond::new_delete;
using millpond::numa_region;
using millpond::ordered_map;
using millpond::ordered_multimap;
using millpond::ordered_multiset;
using millpond::ordered_set;
using millpond::out_of_memory;
using millpond::out_of_memory_function;
using millpond::out_of_memory_handler;
using millpond::pool_delete;
using millpond::pool_unique_ptr;
using millpond::pooled;
using millpond::pooled32;
using millpond::pooled64;
using millpond::pooled_counted_map;
using millpond::pooled_counted_multimap;
using millpond::pooled_counted_multiset;
using millpond::pooled_counted_set;
using millpond::pooled_forward_list;
using millpond::pooled_list;
using millpond::pooled_map;
using millpond::pooled_multimap;
using millpond::pooled_multiset;
using millpond::pooled_ordered_map;
using millpond::pooled_ordered_multimap;
using millpond::pooled_ordered_multiset;
using millpond::pooled_ordered_set;
using millpond::pooled_set;
using millpond::pooled_stats;
using millpond::pooled_unordered_map;
using millpond::pooled_unordered_multimap;
using millpond::pooled_unordered_multiset;
using millpond::pooled_unordered_set;
using millpond::pooled_vector_tree;
using millpond::powers_of_two;
using millpond::promote_above;
using millpond::region;
using millpond::report_misuse;
using millpond::report_out_of_memory;
using millpond::reservation;
using millpond::resizing_source;
using millpond::resource;
using millpond::reuses_memory;
using millpond::rewind_scope;
using millpond::rewindable_allocator;
using millpond::rounding_source;
using millpond::size_class_scheme;
using millpond::size_histogram;
using millpond::slab_source;
using millpond::slot_shape;
using millpond::source_ref;
using millpond::std_source;
using millpond::suballocator;
using millpond::suballocator32;
using millpond::suballocator64;
using millpond::synchronized;
using millpond::synchronized_multipool;
using millpond::upstream_resource;
using millpond::use_sample;
using millpond::use_series;
using millpond::vector_tree;
using millpond::wink_out;
using millpond::winking_scope;
}  // namespace millpond

export namespace millpond::advise {
using millpond::advise::arena_allocator;
using millpond::advise::containers;
using millpond::advise::instance_allocator;
using millpond::advise::instance_pool;
using millpond::advise::outermost_scope_arena;
using millpond::advise::phase_arena;
using millpond::advise::pool_allocator;
using millpond::advise::process_pool;
using millpond::advise::scope_arena;
using millpond::advise::slab_pool;
using millpond::advise::synchronized_phase_arena;
using millpond::advise::synchronized_process_pool;
using millpond::advise::synchronized_slab_pool;
using millpond::advise::thread_arena;
}  // namespace millpond::advise

export namespace millpond::classic {
using millpond::classic::best_fit;
using millpond::classic::binary_buddy;
using millpond::classic::bsd;
using millpond::classic::coalescing;
using millpond::classic::counted_arena;
using millpond::classic::fibonacci_buddy;
using millpond::classic::first_fit;
using millpond::classic::gnu_gxx;
using millpond::classic::gnu_local;
using millpond::classic::heap_record;
using millpond::classic::heap_use;
using millpond::classic::look_at;
using millpond::classic::no_prediction;
using millpond::classic::offset_words;
using millpond::classic::operation_counts;
using millpond::classic::pointer_words;
using millpond::classic::predicted_frame;
using millpond::classic::predicted_site;
using millpond::classic::quick_fit;
using millpond::classic::size_map;
using millpond::classic::uncounted;
}  // namespace millpond::classic

export namespace millpond::os {
using millpond::os::all_optional_calls;
using millpond::os::at_thread_end;
using millpond::os::fault;
using millpond::os::fault_function;
using millpond::os::faults;
using millpond::os::file_pages;
using millpond::os::numa_pages;
using millpond::os::optional_calls;
using millpond::os::pages;
using millpond::os::thread_end_call;
}  // namespace millpond::os
