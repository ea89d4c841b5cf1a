// SPDX-License-Identifier: BSL-1.0
// scope_arena: a place whose arena belongs to one call: a scope object makes it, and its end frees everything at once.
//
//   void parse() {
//       parsing::scope scope;            ┌ arena of this call
//       parsing::vector<token> tokens;   │ in it
//       parse();                         │ ┌ scope_arena: an arena of its own
//   }                                    └ └ outermost_scope_arena: the same arena, until the outer call ends
//
// Use it for a function whose objects do not outlive its calls: allocation is an addition, a free is nothing, and the
// end returns the chunks. The scope object is the function's first line, so that it ends last. Do not use it for
// objects that are returned or kept, or for a long call that frees and allocates all the time: an arena only grows.
// scope_arena is right for recursion whose inner calls end what they make; with outermost_scope_arena they may leave it
// to the outer ones.
//
// FirstBytes: what the first chunk serves; 0 means the arena's own default. Take what nineteen of twenty calls need.
// Members, besides the names of containers, make_shared, make_unique, make and destroy as in process_pool:
//   scope                       the object; arena() is what it uses: monotonic; in_mode applies
//   current()                   the arena of the innermost scope of this thread, or null
//   allocate_bytes(n)           in the place of malloc; with 16 bytes before each block, as it may be freed elsewhere
//   free_bytes(p)               of free
//   resize_bytes(p, n)          of realloc
//   resource()                  for std::pmr: the innermost scope's, or the heap's; scope has resource(), too
//
// A container uses the arena that was current when it was made, or the heap if there was none (arena_allocator.hpp); so
// code that calls without a scope works as before. destroy belongs to the scope in which make was called. Destructors
// run as always; only their frees do nothing.
// A scope: some stores, and O(chunks) at its end. current: a thread-local load. Each thread has scopes of its own. An
// object of a scope is for its thread, or for another one while the scope's waits. Nothing is shared, so fork is safe.
// Throws: all of these throw std::bad_alloc, and what constructors throw. Scopes end in the reverse order; an exception
// ends them as return does.
//
// Example:
//     using parsing = millpond::advise::scope_arena<struct parsing_tag>;
//     const auto count = [](int words) {
//         parsing::scope scope;
//         parsing::map<int, parsing::string> found;
//         for (int i = 0; i < words; ++i) found.emplace(i, "a word that is too long for the small buffer of a string");
//         return found.size();
//     };
//     assert(count(3) == 3 && parsing::current() == nullptr);
#pragma once

#include <cstddef>
#if __has_include(<memory_resource>)  // else core/abi.hpp says which library has it
#include <memory_resource>
#endif

#include "../core/abi.hpp"
#include "detail/arena_place.hpp"
#include "detail/call_scope.hpp"

namespace millpond::inline MILLPOND_ABI::advise {

template <class Tag, std::size_t FirstBytes = 0>
class scope_arena : public detail::arena_place<scope_arena<Tag, FirstBytes>> {
  public:
    using scope = detail::call_scope<scope_arena, FirstBytes, false>;
    using pool_type = typename scope::pool_type;

    [[nodiscard]] static pool_type* current() noexcept { return scope::current_arena(); }
    [[nodiscard]] static std::pmr::memory_resource* resource() noexcept { return scope::current_resource(); }
};

template <class Tag, std::size_t FirstBytes = 0>
class outermost_scope_arena : public detail::arena_place<outermost_scope_arena<Tag, FirstBytes>> {
  public:
    using scope = detail::call_scope<outermost_scope_arena, FirstBytes, true>;
    using pool_type = typename scope::pool_type;

    [[nodiscard]] static pool_type* current() noexcept { return scope::current_arena(); }
    [[nodiscard]] static std::pmr::memory_resource* resource() noexcept { return scope::current_resource(); }
};

}  // namespace millpond::inline MILLPOND_ABI::advise
