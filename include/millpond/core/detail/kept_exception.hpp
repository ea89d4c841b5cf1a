// SPDX-License-Identifier: BSL-1.0
// kept_exception: carries an exception of a source through noexcept calls to the `allocate` that caused it.
//
//   allocate ── kept_exception ──▶ try_allocate … (noexcept, null on failure) …▶ try_allocate of a source
//      ▲                                                                            catch (...) { keep(); return null }
//      └─────────────── give_up: the same exception, or std::bad_alloc ◀── null ──────┘
//
// Pools call only try_allocate of their source, so a failure has one way back and changes nothing. A source that can
// throw (upstream_resource, std_source) keeps the exception for the innermost kept_exception of its thread. Without
// one, because the caller used try_allocate, the exception is dropped.
// In an allocator of your own, make one in `allocate` after its fast path has failed; the header's example does.
//
// Construction and destruction: two accesses to a thread-local pointer. keep, give_up: O(1). Thread-safe: each thread
// has its own. Empty without exceptions.
//
// Example:
//     struct always_throws {
//         void* try_allocate(std::size_t, std::size_t) noexcept {
//             try {
//                 throw 42;
//             } catch (...) {
//                 millpond::detail::kept_exception::keep();
//                 return nullptr;
//             }
//         }
//         void deallocate(void*, std::size_t, std::size_t) noexcept {}
//     };
//     millpond::multipool<always_throws> pool;
//     assert(pool.try_allocate(24, 8) == nullptr);
//     try {
//         static_cast<void>(pool.allocate(24, 8));
//     } catch (int number) {
//         assert(number == 42);
//     }
#pragma once

#include <cstddef>

#include "../abi.hpp"
#include "../concepts.hpp"
#include "../out_of_memory.hpp"

#if defined(__cpp_exceptions)
#include <exception>
#include <utility>
#endif

namespace millpond::inline MILLPOND_ABI::detail {

#if defined(__cpp_exceptions)
class kept_exception {
  public:
    // Effects: from now on this thread keeps its exceptions here.
    kept_exception() noexcept : outer_(innermost_) { innermost_ = this; }
    kept_exception(const kept_exception&) = delete;
    kept_exception& operator=(const kept_exception&) = delete;
    ~kept_exception() { innermost_ = outer_; }

    // Effects: keeps the exception that is being handled, in place of an earlier one. Call it in catch clauses.
    static void keep() noexcept {
        if (innermost_ != nullptr) innermost_->kept_ = std::current_exception();
    }

    // Throws: the exception that was kept; without one, what out_of_memory throws.
    [[noreturn, gnu::noinline, gnu::cold]] void give_up(std::size_t bytes, std::size_t alignment) {
        if (kept_ != nullptr) std::rethrow_exception(std::exchange(kept_, nullptr));
        out_of_memory(bytes, alignment);
    }

  private:
    static inline thread_local constinit kept_exception* innermost_ = nullptr;
    kept_exception* outer_;
    std::exception_ptr kept_;
};
#else
class [[maybe_unused]] kept_exception {
  public:
    constexpr kept_exception() noexcept {}
    static void keep() noexcept {}
    [[noreturn]] void give_up(std::size_t bytes, std::size_t alignment) { out_of_memory(bytes, alignment); }
};
#endif

// Returns: a block of `from`. Throws: what its allocate throws; if it has no allocate, the kept exception or
// std::bad_alloc.
template <block_source A>
[[nodiscard]] void* allocate_from(A& from, std::size_t bytes, std::size_t alignment) {
    if constexpr (allocator_like<A>) {
        return from.allocate(bytes, alignment);
    } else {
        kept_exception thrown;
        if (void* const block = from.try_allocate(bytes, alignment)) return block;
        thrown.give_up(bytes, alignment);
    }
}

}  // namespace millpond::inline MILLPOND_ABI::detail
