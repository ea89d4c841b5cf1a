// SPDX-License-Identifier: BSL-1.0
#include "lab/mallocs/checked_malloc.hpp"

#include <errno.h>
#include <string.h>

#include <bit>
#include <new>

#include "millpond/core/abi.hpp"
#include "millpond/core/detail/alignment.hpp"
#include "millpond/wrap/detail/block_ledger.hpp"
#include "preload/environment.hpp"
#include "preload/huge_blocks.hpp"
#include "preload/real.hpp"
#include "preload/thread_cache.hpp"

namespace millpond::mallocs {
namespace {

using detail::block_ledger;
using detail::block_record;
using detail::block_table;
using detail::guarded_block;
using preload::huge_blocks;
using preload::real;

constexpr std::size_t quarantine_bytes = std::size_t{16} << 20;
constexpr std::size_t table_bytes = std::size_t{2} << 20;  // addresses covered by one table of pages

// Never destroyed: programs free until the very end.
alignas(block_ledger) constinit std::byte ledger_memory[sizeof(block_ledger)] = {};

constinit preload::holder_lock books_lock;

block_ledger& ledger() noexcept { return *std::launder(reinterpret_cast<block_ledger*>(ledger_memory)); }

// Holds the ledger's lock if possible. It is impossible while this thread holds it: allocations by the ledger, by
// reports, and by a signal handler meanwhile come from the C library. It is also impossible in a child that was forked
// meanwhile.
class visit {
  public:
    visit() noexcept : errno_(errno) {
        // Done at a child's first call, not at its first wait. Otherwise other threads that hold the lock by then would
        // lose it for a moment, and the ledger would miss blocks.
        if (preload::holder_lock::before_waiting != nullptr) preload::holder_lock::before_waiting();
        has_books_ = books_lock.lock(preload::thread_cache::this_thread());
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() {
        if (has_books_) books_lock.unlock();
        errno = errno_;
    }
    [[nodiscard]] bool has_books() const noexcept { return has_books_; }

  private:
    int errno_;
    bool has_books_;
};

void give_down(const block_record& out) noexcept { real::deallocate(guarded_block(out).whole()); }

// Effects: returns blocks that may leave quarantine, or with `all` every block there, to the C library.
void empty_quarantine(bool all, call_site site) noexcept {
    while (const block_record* const out = ledger().next_out(all, site)) give_down(*out);
}

// Returns: the guarded block, or null.
void* add(std::size_t bytes, std::size_t alignment, std::size_t whole_bytes, call_site site) noexcept {
    block_record* const record = block_table::new_record();
    void* whole = real::allocate_aligned(alignment, whole_bytes);
    if (whole == nullptr) {
        empty_quarantine(true, site);
        whole = real::allocate_aligned(alignment, whole_bytes);
    }
    if (record != nullptr && whole != nullptr && ledger().add(record, whole, bytes, alignment, site))
        return record->start;
    if (whole != nullptr) real::deallocate(whole);
    block_table::free_record(record);
    return nullptr;
}

}  // namespace

bool checked_malloc::decide() noexcept {
    const bool is_wanted = preload::is_switched_on("MILLPOND_CHECK");
    if (is_wanted) new (ledger_memory) block_ledger(ledger_memory, quarantine_bytes);
    __atomic_store_n(&mode_, is_wanted ? on : off, __ATOMIC_RELAXED);
    return is_wanted;
}

void checked_malloc::retire_unless_held_by(preload::holder_lock::thread_id survivor) noexcept {
    books_lock.retire_unless_held_by(survivor);
}

void* checked_malloc::allocate(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
    if (alignment < detail::default_alignment) alignment = detail::default_alignment;
    if (alignment > std::size_t{1} << 62) {
        errno = alignment > std::size_t{1} << 63 ? EINVAL : ENOMEM;  // as in the C library
        return nullptr;
    }
    alignment = std::bit_ceil(alignment);
    void* start = nullptr;
    if (const std::size_t whole_bytes = guarded_block::whole_bytes(bytes, alignment); whole_bytes != 0) {
        const visit here;
        start = here.has_books() ? add(bytes, alignment, whole_bytes, site) : real::allocate_aligned(alignment, bytes);
    }
    if (start == nullptr) errno = ENOMEM;
    return start;
}

void* checked_malloc::allocate_zeroed(std::size_t bytes, call_site site) noexcept {
    void* const start = allocate(bytes, 0, site);
    if (start != nullptr) huge_blocks::clear(start, bytes);
    return start;
}

void checked_malloc::deallocate(void* p, call_site site) noexcept {
    const visit here;
    if (!here.has_books()) {
        if (!guarded_block::has_guard_in_front(p)) real::deallocate(p);
        return;
    }
    const block_record* const known = ledger().find(p);
    const auto is_kept = [](std::size_t, std::size_t) { return true; };
    // The record's size and alignment, because free passes none.
    if (const block_record* const out = ledger().give_back(p, known != nullptr ? known->bytes : 0,
                                                           known != nullptr ? known->alignment : 1, site, is_kept))
        give_down(*out);
    else if (known != nullptr)
        huge_blocks::empty(guarded_block(*known).middle(), guarded_block(*known).middle_bytes());
    empty_quarantine(false, site);
}

void* checked_malloc::reallocate(void* old, std::size_t bytes, call_site site) noexcept {
    // Between two such addresses the system moves tables of pages, and not each page.
    void* const fresh = allocate(bytes, bytes >= 2 * table_bytes ? table_bytes : 0, site);
    if (fresh == nullptr) return nullptr;
    // A block that is not live is reported by deallocate.
    const std::size_t held = usable_size(old);
    if (!huge_blocks::move(fresh, old, held < bytes ? held : bytes)) {
        errno = ENOMEM;
        return nullptr;  // `fresh` is lost, and `old` unchanged
    }
    deallocate(old, site);
    return fresh;
}

std::size_t checked_malloc::usable_size(const void* p) noexcept {
    const visit here;
    if (!here.has_books() && !guarded_block::has_guard_in_front(p)) return real::usable_size(const_cast<void*>(p));
    const block_record* const known = ledger().find(p);
    return known != nullptr && known->ending == detail::block_ending::none ? known->bytes : 0;
}

void checked_malloc::verify() noexcept {
    const visit here;
    if (here.has_books()) ledger().verify(call_site());
}

}  // namespace millpond::mallocs
