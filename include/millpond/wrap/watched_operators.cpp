// SPDX-License-Identifier: BSL-1.0
// watched_operators: operator new and delete for a program in checked mode. They call malloc and free. They tell
// winking_scope what is deleted while a skipped destructor runs, and report checked blocks given to delete.
//
// Compile it into a program once: the CMake option MILLPOND_MODE=checked does so for executables. All are weak: a
// program with operators of its own keeps those, and can call winking_scope::note_freed_elsewhere itself.
#include <cstdlib>
#include <new>

#include "detail/block_report.hpp"
#include "detail/guarded_block.hpp"
#include "detail/registered_table.hpp"
#include "winking_scope.hpp"

namespace {

void* new_block(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes == 0) bytes = 1;
    if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes);
    if (bytes > static_cast<std::size_t>(-1) - alignment) return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}

// Calls the new handler, which may find memory or throw, as the standard requires.
void* new_block_or_throw(std::size_t bytes, std::size_t alignment) {
    for (;;) {
        if (void* const block = new_block(bytes, alignment)) return block;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
#if defined(__cpp_exceptions)
            throw std::bad_alloc();
#else
            std::abort();
#endif
        }
        handler();
    }
}

void* new_block_or_null(std::size_t bytes, std::size_t alignment) noexcept {
#if defined(__cpp_exceptions)
    try {
        return new_block_or_throw(bytes, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
#else
    return new_block(bytes, alignment);
#endif
}

// A block of a checked allocator has its guard in front; only then is it worth asking all allocators.
void expect_none_of_ours(const void* block, const void* return_address) noexcept {
    if (block == nullptr || millpond::detail::memory_checker ||
        !millpond::detail::guarded_block::has_guard_in_front(block))
        return;
    millpond::detail::block_record found;
    if (millpond::detail::registered_table::owner_of(block, found) == nullptr) return;
    millpond::detail::report_block(millpond::misuse_kind::operator_deleted, found, millpond::call_site(return_address),
                                   "was given to operator delete");
}

void delete_block(void* block, const void* return_address) noexcept {
    millpond::winking_scope::note_freed_elsewhere(block, "operator delete", millpond::call_site(return_address));
    expect_none_of_ours(block, return_address);
    std::free(block);
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr std::size_t number(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

using size = std::size_t;
using align = std::align_val_t;
using quiet = const std::nothrow_t&;

[[gnu::weak]] void* operator new(size n) { return new_block_or_throw(n, usual); }
[[gnu::weak]] void* operator new[](size n) { return new_block_or_throw(n, usual); }
[[gnu::weak]] void* operator new(size n, align a) { return new_block_or_throw(n, number(a)); }
[[gnu::weak]] void* operator new[](size n, align a) { return new_block_or_throw(n, number(a)); }
[[gnu::weak]] void* operator new(size n, quiet) noexcept { return new_block_or_null(n, usual); }
[[gnu::weak]] void* operator new[](size n, quiet) noexcept { return new_block_or_null(n, usual); }
[[gnu::weak]] void* operator new(size n, align a, quiet) noexcept { return new_block_or_null(n, number(a)); }
[[gnu::weak]] void* operator new[](size n, align a, quiet) noexcept { return new_block_or_null(n, number(a)); }

[[gnu::weak]] void operator delete(void* p) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete(void* p, size) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p, size) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete(void* p, align) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p, align) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete(void* p, size, align) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p, size, align) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete(void* p, quiet) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p, quiet) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete(void* p, align, quiet) noexcept { delete_block(p, __builtin_return_address(0)); }
[[gnu::weak]] void operator delete[](void* p, align, quiet) noexcept { delete_block(p, __builtin_return_address(0)); }
