// SPDX-License-Identifier: BSL-1.0
// marks: the bytes that the marked program touches, and the sizes that it asks for.
#pragma once

enum mark : unsigned {
    stored,
    loaded,
    modified,
    wide,
    in_new,
    in_handler,
    in_new_after_handler,
    after_new,
    after_interrupted,
    after_throw,
    after_jump,
    after_signal_jump,
    after_tail_call,
    in_thread,
    read_by_system,
    written_to_system,
    in_child,
    after_fork,
    second_in_window,
    beside_window,
    last_in_window,
    after_window,
    mark_count
};

// A distance at which no two marks share a cache line.
inline constexpr unsigned mark_distance = 256;

enum size : unsigned {
    size_of_malloc = 100003,
    size_of_realloc = 100019,
    size_of_calloc = 100043,
    size_of_posix_memalign = 100049,
    size_of_aligned_alloc = 100096
};
