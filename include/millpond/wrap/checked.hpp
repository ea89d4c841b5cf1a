// SPDX-License-Identifier: BSL-1.0
// checked: a layer over any allocator that guards every block, looks up every free and reports every misuse with its
// sites.
//
//   allocate   ─▶ │guard│ block │guard│  from the allocator beneath; its record apart from it (block_ledger.hpp)
//   deallocate ─▶ known? live? same size and alignment? guards whole? ─▶ overwritten, and kept in quarantine
//   reset, release, rewind ─▶ all blocks closed; done at the next allocation, after a check for writes
//   …                         or at once, if the source may be gone by then
//
// Use it while developing and in tests, under the name in_mode<A>, which is A itself in other builds. Do not measure
// with it: a block costs about 300 bytes and some hundred nanoseconds more. Memory comes back late, except to a source
// that the allocator does not own (has_lasting_source, allocator_nature.hpp).
//
// It finds these, each with a line of its own (misuse.hpp):
// - double free; overrun and underrun, when the block ends; blocks given to operator delete, where that is watched, or
//   to the C library's free, where that faults;
// - writes after free, reset, release or rewind, when the memory is about to be used again;
// - blocks given back after those, with a wrong size or alignment, inside another block, to another allocator, to a
//   destroyed one, or to one whose absorber is destroyed;
// - a stale checkpoint, or one of another allocator; an alignment that is not a power of two;
// - calls of two threads that overlap, if A is for one; a reset, release or destruction while another thread is inside;
// - absorption over different sources; on request, leaks; what a winked-out object owns elsewhere (winking_scope.hpp).
//
// For the first 1024 blocks of a process, and for some later ones, it also finds reads, at once and even after the
// allocator is gone (lone_block.hpp). For every block it finds pointers followed that freed memory held
// (wild_access.hpp). Such faults end in a handler for SIGSEGV, which passes on faults that it does not know
// (os/faults.hpp).
// It does not find reads of other blocks (a memory checker does: guards and graves are poisoned), writes that jump into
// another block, or uses of memory that has been handed out again.
//
// It has the same calls as A, rewinding included, with the sizes and alignments that were asked for. If A has no
// memory, the quarantine is given up first. Complexity: that of A, and O(bytes of the block). As thread-safe as A.
//
// Example:
//     millpond::checked<millpond::multipool<>> pool;
//     std::vector<int, millpond::allocator<int, decltype(pool)>> numbers({1, 2, 3}, &pool);
//     pool.verify();  // all guards are whole
//     numbers = decltype(numbers)(&pool);
//     numbers.shrink_to_fit();
//     pool.expect_empty();
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "../core/abi.hpp"
#include "../core/concepts.hpp"
#include "../core/detail/alignment.hpp"
#include "../core/detail/kept_exception.hpp"
#include "../core/detail/one_at_a_time.hpp"
#include "allocator_nature.hpp"
#include "detail/block_ledger.hpp"
#include "detail/checkpoint_history.hpp"
#include "detail/checkpoint_of.hpp"
#include "detail/lone_block.hpp"
#include "detail/wild_access.hpp"
#include "misuse.hpp"
#include "winking_scope.hpp"

namespace millpond::inline MILLPOND_ABI {

// Options of checked: checks in addition to those that are always made.
struct checks {
    bool leaks = false;  // report blocks that are live at reset, release or destruction
    std::size_t quarantine_bytes = std::size_t{1} << 20;  // freed blocks kept from being used again
    bool watches_ended = true;  // delay reset, release and rewind until the next call, to see writes until then
    bool source_lasts = true;   // false: memory returns to the source at once
};

template <block_source A>
class checked {
    using block_ending = detail::block_ending;
    using block_record = detail::block_record;
    using guarded_block = detail::guarded_block;
    using lone_block = detail::lone_block;

  public:
    // A block that is live when the allocator is destroyed is a leak, unless the allocator is managed and takes all
    // back.
    static constexpr checks default_checks{.leaks = !managed_allocator<A>, .source_lasts = has_lasting_source<A>};

    class checkpoint_type {
        friend checked;
        checkpoint_type(detail::checkpoint_of<A> beneath, detail::checkpoint_history::place here) noexcept
            : beneath_(beneath), here_(here) {}
        detail::checkpoint_of<A> beneath_;
        detail::checkpoint_history::place here_;
    };

    // Ownership: the allocator is a member, made from the arguments.
    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    explicit checked(Arguments&&... arguments) : checked(default_checks, std::forward<Arguments>(arguments)...) {}

    template <class... Arguments>
        requires std::constructible_from<A, Arguments...>
    explicit checked(checks what, Arguments&&... arguments)
        : allocator_(std::forward<Arguments>(arguments)...),
          ledger_(this, what.quarantine_bytes),
          checks_(what),
          has_buffer_(detail::stands_on_buffer<A> || detail::names_buffer<Arguments...>) {
        detail::wild_access::watch();
        mark_ = mark_of_life();
    }

    checked(const checked&) = delete;
    checked& operator=(const checked&) = delete;

    [[gnu::noinline]] ~checked() {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site)) return;
        const visit here(*this, site);
        const end_of_all alone(*this, site);
        const winking_scope own_work(nullptr);
        leave_owner();
        const std::lock_guard lock(ledger_.mutex());
        settle(site);
        if (checks_.leaks) ledger_.report_live("when its allocator is destroyed", site);
        ledger_.verify(site);
        if constexpr (!managed_allocator<A>) pass_on(true, site);
        if (checks_.leaks || managed_allocator<A>) ledger_.open_all(site);
        gone_at_ = site.return_address();
        mark_ = 0;
    }

    // Returns: a block of `bytes` aligned to `alignment` (a power of two), or null.
    [[nodiscard, gnu::noinline]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        return obtain(bytes, alignment, call_site(__builtin_return_address(0)));
    }

    // Throws: what the allocator throws.
    [[nodiscard, gnu::noinline]] void* allocate(std::size_t bytes, std::size_t alignment) {
        detail::kept_exception thrown;
        if (void* block = obtain(bytes, alignment, call_site(__builtin_return_address(0)))) return block;
        thrown.give_up(bytes, alignment);
    }

    // Effects: takes the block back. `bytes` and `alignment`: those of the request.
    [[gnu::noinline]] void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site)) return;
        if (winking_scope::pool() != this)
            winking_scope::note_freed_elsewhere(block, "an allocator that is not the pool", site);
        const winking_scope own_work(nullptr);
        checked& books = *owner();
        const visit here(books, site);
        const call inside(books, site);
        const std::lock_guard lock(books.ledger_.mutex());
        const auto is_kept = [&](std::size_t n, std::size_t aligned) { return books.is_kept(n, aligned); };
        if (const block_record* const out = books.ledger_.give_back(block, bytes, alignment, site, is_kept))
            books.hand_down(*out);
        books.pass_on(false, site);
    }

    // Effects: forgets every block and keeps the memory.
    [[gnu::noinline]] void reset() noexcept
        requires managed_allocator<A>
    {
        end_all(block_ending::reset, "at reset", call_site(__builtin_return_address(0)));
    }

    // Effects: forgets every block; all memory goes back to the source with the next call but deallocate.
    [[gnu::noinline]] void release() noexcept
        requires managed_allocator<A>
    {
        end_all(block_ending::released, "at release", call_site(__builtin_return_address(0)));
    }

    // Returns: the present position, for rewind.
    [[nodiscard, gnu::noinline]] checkpoint_type checkpoint() const noexcept
        requires rewindable_allocator<A>
    {
        const call_site site(__builtin_return_address(0));
        if (is_alive(site) && forward_ != nullptr) return forward_->checkpoint();
        const std::lock_guard lock(ledger_.mutex());
        settle(site);
        return {allocator_.checkpoint(), history_.mark(ledger_.serial())};
    }

    // Effects: forgets every block allocated since the checkpoint.
    [[gnu::noinline]] void rewind(checkpoint_type place) noexcept
        requires rewindable_allocator<A>
    {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site)) return;
        if (forward_ != nullptr) return forward_->rewind(place);
        const visit here(*this, site);
        const std::lock_guard lock(ledger_.mutex());
        settle(site);
        if (!history_.rewind_to(place.here_, ledger_.serial())) {
            misuse found{.kind = misuse_kind::invalid_checkpoint, .detected_at = site};
            std::snprintf(found.details, sizeof found.details,
                          "the checkpoint is older than a release or reset, newer than where a rewind has led, or of "
                          "another allocator");
            return misuse_handler(found);
        }
        ledger_.end_since(place.here_.blocks, block_ending::rewound, site);
        pending_ = block_ending::rewound;
        pending_place_ = place;
        if (!may_wait()) settle(site);
    }

    // Effects: takes over all blocks of `other`, which passes every call on to this from now on.
    [[gnu::noinline]] void absorb(checked& other) noexcept
        requires requires(A& allocator) { allocator.absorb(allocator); }
    {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site) || !other.is_alive(site)) return;
        checked& to = *owner();
        checked& from = *other.owner();
        if (this == &other) return report_absorption("the allocator at %p absorbs itself", this, site);
        if (&to == &from) return;
        const visit here(to, site), there(from, site);
        if (!have_one_source(to.allocator_, from.allocator_))
            return report_absorption("the allocator at %p absorbs one that has another source", this, site);
        const std::scoped_lock lock(to.ledger_.mutex(), from.ledger_.mutex());
        to.settle(site);
        from.settle(site);
        to.allocator_.absorb(from.allocator_);
        to.ledger_.absorb(from.ledger_);
        from.history_.clear();
        from.forward_ = &to;
        from.next_absorbed_ = std::exchange(to.first_absorbed_, &from);
    }

    // Returns: the allocator that owns the blocks: this one, or the one that has absorbed it.
    [[nodiscard]] checked* owner() noexcept {
        checked* allocator = this;
        while (allocator->forward_ != nullptr) allocator = allocator->forward_;
        return allocator;
    }

    // Returns: true if blocks of one may be given to the other, as A defines it.
    [[nodiscard]] friend bool operator==(const checked& a, const checked& b) noexcept
        requires std::equality_comparable<A>
    {
        return const_cast<checked&>(a).owner() == const_cast<checked&>(b).owner() || a.allocator_ == b.allocator_;
    }

    // Returns: the bytes that the allocator beneath holds, guards and quarantine included.
    [[nodiscard]] std::size_t held_bytes() const noexcept
        requires requires(const A& allocator) { allocator.held_bytes(); }
    {
        const std::lock_guard lock(ledger_.mutex());
        settle({});
        return allocator_.held_bytes();
    }

    [[nodiscard]] decltype(auto) source() noexcept
        requires requires(A& allocator) { allocator.source(); }
    {
        const std::lock_guard lock(ledger_.mutex());
        settle({});
        return allocator_.source();
    }

    // Effects: checks all guards and all freed blocks now instead of later. Complexity: O(bytes).
    [[gnu::noinline]] void verify() noexcept {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site)) return;
        const std::lock_guard lock(ledger_.mutex());
        ledger_.verify(site);
    }

    // Returns: false, after a report, if the allocator is destroyed.
    [[nodiscard, gnu::noinline]] bool expect_alive() const noexcept {
        return is_alive(call_site(__builtin_return_address(0)));
    }

    // Effects: reports a leak if a block is live, and verifies.
    [[gnu::noinline]] void expect_empty() noexcept {
        const call_site site(__builtin_return_address(0));
        if (!is_alive(site)) return;
        const std::lock_guard lock(ledger_.mutex());
        ledger_.report_live("where none is expected", site);
        ledger_.verify(site);
    }

    // Returns: true if a block of this allocator starts here, live or freed and still known.
    [[nodiscard]] bool holds(const void* block) noexcept {
        const std::lock_guard lock(ledger_.mutex());
        return ledger_.find(block) != nullptr;
    }

    [[nodiscard]] std::size_t live_blocks() const noexcept {
        const std::lock_guard lock(ledger_.mutex());
        return ledger_.live().size();
    }

  private:
    [[nodiscard]] std::uintptr_t mark_of_life() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) ^ 0x6d696c6cu;
    }

    // Reads memory that may have another owner by now; nothing better is possible for a pointer to a destroyed
    // allocator.
    [[nodiscard]] bool is_alive(call_site site) const noexcept {
        const checked* allocator = this;
        for (; allocator->mark_ == allocator->mark_of_life(); allocator = allocator->forward_) {
            if (allocator->absorber_is_gone_) return report_absorber(*allocator, site);
            if (allocator->forward_ == nullptr) return true;
        }
        misuse found{.kind = misuse_kind::destroyed_allocator, .detected_at = site};
        if (allocator->mark_ == 0) found.ended_at = call_site(allocator->gone_at_);
        std::snprintf(found.details, sizeof found.details, "the allocator at %p is used after its destruction",
                      static_cast<const void*>(allocator));
        misuse_handler(found);
        return false;
    }

    static bool report_absorber(const checked& absorbed, call_site site) noexcept {
        misuse found{.kind = misuse_kind::destroyed_allocator, .detected_at = site};
        std::snprintf(found.details, sizeof found.details,
                      "the allocator at %p is used after the destruction of the one at %p, which had absorbed it",
                      static_cast<const void*>(&absorbed), static_cast<const void*>(absorbed.forward_));
        misuse_handler(found);
        return false;
    }

    static void report_absorption(const char* format, const void* allocator, call_site site) noexcept {
        misuse found{.kind = misuse_kind::different_sources, .detected_at = site};
        std::snprintf(found.details, sizeof found.details, format, allocator);
        misuse_handler(found);
    }

    // Two sources that the allocators own and manage are absorbed along with them.
    [[nodiscard]] static bool have_one_source(A& a, A& b) noexcept {
        if constexpr (requires { a.source() == b.source(); }) {
            return managed_allocator<std::remove_cvref_t<decltype(a.source())>> || a.source() == b.source();
        } else {
            return true;
        }
    }

    // Effects: ends the passing on of calls to this allocator, and its absorber forgets it.
    void leave_owner() noexcept {
        for (checked* absorbed = first_absorbed_; absorbed != nullptr; absorbed = absorbed->next_absorbed_)
            absorbed->absorber_is_gone_ = true;
        if (forward_ == nullptr) return;
        checked** place = &forward_->first_absorbed_;
        while (*place != this) place = &(*place)->next_absorbed_;
        *place = next_absorbed_;
    }

    // One call by one thread, which must not overlap another thread's.
    class visit {
      public:
        visit(checked& object, call_site site) noexcept : here_(object.watch_) {
            if (!is_for_one_thread<A> || here_.is_alone()) return;
            misuse found{.kind = misuse_kind::two_threads, .detected_at = site};
            std::snprintf(found.details, sizeof found.details,
                          "the allocator at %p is used while another thread is inside; give each thread its own, or "
                          "wrap it in synchronized",
                          static_cast<const void*>(&object));
            misuse_handler(found);
        }

      private:
        detail::thread_watch::visit here_;
    };

    // True if several threads may be inside such an allocator, but none while another one ends all blocks.
    static constexpr bool ends_alone = detail::ends_alone<A>;
    static void report_end(const checked& object, call_site site) noexcept {
        misuse found{.kind = misuse_kind::two_threads, .detected_at = site};
        std::snprintf(found.details, sizeof found.details,
                      "the allocator at %p is reset, released or destroyed while another thread is inside",
                      static_cast<const void*>(&object));
        misuse_handler(found);
    }
    class call {
      public:
        call(checked& object, call_site site) noexcept : calls_(object.calls_) {
            if (ends_alone && calls_.fetch_add(1) >= ending_call) report_end(object, site);
        }
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        ~call() {
            if (ends_alone) calls_.fetch_sub(1);
        }

      private:
        std::atomic<unsigned>& calls_;
    };
    class end_of_all {
      public:
        end_of_all(checked& object, call_site site) noexcept : calls_(object.calls_) {
            if (ends_alone && calls_.fetch_add(ending_call) != 0) report_end(object, site);
        }
        end_of_all(const end_of_all&) = delete;
        end_of_all& operator=(const end_of_all&) = delete;
        ~end_of_all() {
            if (ends_alone) calls_.fetch_sub(ending_call);
        }

      private:
        std::atomic<unsigned>& calls_;
    };

    // Returns: true if a block may stay in quarantine: its source always lasts, or the allocator beneath would also
    // keep the block, so that its source still exists at release or destruction.
    [[nodiscard]] bool is_kept(std::size_t bytes, std::size_t alignment) const noexcept {
        return checks_.source_lasts || detail::keeps_freed<A>(bytes, alignment);
    }

    // Returns: true if the reset, release or rewind that is pending may wait for the next call.
    [[nodiscard]] bool may_wait() const noexcept {
        if (!checks_.watches_ended) return false;
        // After a release the buffer belongs to its owner again.
        if (pending_ == block_ending::released && has_buffer_) return false;
        if (checks_.source_lasts) return true;
        return pending_ != block_ending::released && ledger_.is_all_pending(&detail::keeps_freed<A>);
    }

    [[nodiscard]] void* obtain(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        if (!is_alive(site)) return nullptr;
        if (forward_ != nullptr) return forward_->obtain(bytes, alignment, site);
        const visit here(*this, site);
        const call inside(*this, site);
        if (!detail::is_power_of_two(alignment)) {
            report_alignment(bytes, alignment, site);
            return nullptr;
        }
        const winking_scope own_work(nullptr);
        const std::size_t whole_bytes = detail::held_for<A>(guarded_block::whole_bytes(bytes, alignment), alignment);
        block_record* const record = whole_bytes == 0 ? nullptr : detail::block_table::new_record();
        if (record == nullptr) return nullptr;
        void* const whole = obtain_whole(whole_bytes, alignment, site);
        if (whole != nullptr) {
            lone_block* lone = nullptr;
            if constexpr (detail::is_of_plain_memory<A>) {
                if (!has_buffer_) lone = lone_block::take(bytes, alignment, this);
            }
            const std::lock_guard lock(ledger_.mutex());
            if (ledger_.add(record, whole, whole_bytes, lone, bytes, alignment, site)) return record->start;
            if constexpr (detail::is_of_plain_memory<A>) {
                if (lone != nullptr) lone->retire();
            }
            allocator_.deallocate(whole, whole_bytes, alignment);
        }
        detail::block_table::free_record(record);
        return nullptr;
    }

    // Calls the allocator beneath without the lock, because a limit's callback may give blocks back to us.
    [[nodiscard]] void* obtain_whole(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        {
            const std::lock_guard lock(ledger_.mutex());
            settle(site);
        }
        if (void* const whole = allocator_.try_allocate(bytes, alignment)) return whole;
        {
            const std::lock_guard lock(ledger_.mutex());
            if (!pass_on(true, site)) return nullptr;
        }
        return allocator_.try_allocate(bytes, alignment);
    }

    // Effects: hands blocks that leave the quarantine, or all of them, to the allocator beneath. Returns: true if there
    // were some.
    bool pass_on(bool all, call_site site) noexcept {
        bool any = false;
        while (const block_record* const out = ledger_.next_out(all, site)) {
            hand_down(*out);
            any = true;
        }
        return any;
    }

    void hand_down(const block_record& out) noexcept {
        allocator_.deallocate(out.beneath, out.beneath_bytes, out.alignment);
    }

    void end_all(block_ending ending, const char* when, call_site site) noexcept {
        if (!is_alive(site) || forward_ != nullptr) return;
        const bool is_winked_out = winking_scope::pool() == this;
        const visit here(*this, site);
        const end_of_all alone(*this, site);
        const winking_scope own_work(nullptr);
        const std::lock_guard lock(ledger_.mutex());
        settle(site);
        if (checks_.leaks && !is_winked_out) ledger_.report_live(when, site);
        ledger_.end_since(0, ending, site);
        history_.clear();
        pending_ = ending;
        if (!may_wait()) settle(site);
    }

    // Effects: does the reset, release or rewind that was put off, after a check for writes meanwhile.
    void settle(call_site site) const noexcept {
        if (pending_ == block_ending::none) return;
        ledger_.settle(site);
        if constexpr (managed_allocator<A>) {
            if (pending_ == block_ending::reset) allocator_.reset();
            if (pending_ == block_ending::released) allocator_.release();
        }
        if constexpr (rewindable_allocator<A>) {
            if (pending_ == block_ending::rewound) allocator_.rewind(pending_place_->beneath_);
        }
        pending_ = block_ending::none;
    }

    static void report_alignment(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        misuse found{
            .kind = misuse_kind::invalid_alignment, .bytes = bytes, .alignment = alignment, .detected_at = site};
        std::snprintf(found.details, sizeof found.details,
                      "%zu bytes were requested with alignment %zu, which is not a power of two", bytes, alignment);
        misuse_handler(found);
    }

    // Mutable, because a const call may have to do a reset, release or rewind that was put off.
    mutable A allocator_;
    mutable detail::block_ledger ledger_;
    mutable detail::checkpoint_history history_;
    mutable block_ending pending_ = block_ending::none;
    mutable std::optional<checkpoint_type> pending_place_;
    checked* forward_ = nullptr;         // the allocator that has absorbed this one
    checked* first_absorbed_ = nullptr;  // the ones that this has absorbed, linked by …
    checked* next_absorbed_ = nullptr;
    bool absorber_is_gone_ = false;
    checks checks_;
    bool has_buffer_;  // some memory is the program's own: blocks must lie in it
    [[no_unique_address]] detail::thread_watch watch_;
    static constexpr unsigned ending_call = 1u << 16;  // more than the number of threads inside
    std::atomic<unsigned> calls_ = 0;         // threads inside, and `ending_call` for each that ends all blocks
    const void* volatile gone_at_ = nullptr;  // volatile: its last write must not be left out, nor its reads
    volatile std::uintptr_t mark_ = 0;        // likewise
};

}  // namespace millpond::inline MILLPOND_ABI
