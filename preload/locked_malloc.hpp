// SPDX-License-Identifier: BSL-1.0
// locked_malloc: turns a heap that frees by address into a malloc for any program, with one heap and one lock.
//
//   malloc ─▶ lock ─▶ the heap ─── no memory there ─▶ the C library's malloc (or the one that the program brought)
//                └─ unavailable ──────────────────────▶ the same
//   free ──▶ in the heap's range? ── no ─────────────▶ the same provider's free
//                │ yes: lock ─▶ the heap ─── unavailable: kept on a lock-free list for the next allocation
//
// Heap<Counts> is a classic allocator over heap_region. At the first call MILLPOND_STATS decides whether
// Heap<uncounted> or Heap<operation_counts> is built, in static storage: an allocator whose instructions are counted
// must not pay for its statistics, and its user needs no second library. A heap whose try_allocate takes a call site
// gets it; Site is the type that it needs.
//
// The lock cannot be taken in two cases (holder_lock): a signal handler interrupted its holder, or this is a child of a
// fork and only the parent has the holder. Such a child keeps its blocks; new ones come from the C library. In a
// process of one thread the lock is two plain stores.
//
// Blocks of 1 MiB or more, or aligned to that, come from the C library, and from the heap only if the library has no
// memory. The C library maps such blocks, moves pages instead of bytes when they grow, and clears no fresh memory. A
// heap that copies and cuts would touch all the memory of a program that reserves more than it uses.
//
// All members are static: this is the backend of interpose_exports.hpp and usage_exports.hpp. Zeroed blocks of 256 KiB
// or more get fresh pages; smaller ones are cleared, because the state of their pages is unknown. Blocks do not move to
// become a little smaller. Any thread may call anything.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/single_threaded.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "millpond/classic/heap_record.hpp"
#include "millpond/classic/operation_counts.hpp"
#include "millpond/classic/words.hpp"
#include "millpond/core/detail/alignment.hpp"
#include "millpond/os/pages.hpp"
#include "preload/adopt_if_child.hpp"
#include "preload/call_site.hpp"
#include "preload/exit_statistics.hpp"
#include "preload/heap_region.hpp"
#include "preload/holder_lock.hpp"
#include "preload/real.hpp"

namespace millpond::preload {

// `HugeBytes`: the size from which blocks come from the C library.
template <template <class Counts> class Heap, class Site = return_site, std::size_t HugeBytes = std::size_t{1} << 20>
class locked_malloc {
    using plain_heap = Heap<classic::uncounted>;
    using counted_heap = Heap<classic::operation_counts>;

  public:
    using call_site = Site;

    [[gnu::always_inline]] static void* allocate(std::size_t bytes, const call_site& site) noexcept {
        return take(bytes, usual_alignment, site);
    }

    [[gnu::always_inline]] static void* allocate_zeroed(std::size_t bytes, const call_site& site) noexcept {
        if (bytes >= huge_bytes) [[unlikely]]
            return take_huge_zeroed(bytes, site);
        void* const p = take_from_heap(bytes, usual_alignment, site);
        if (p == nullptr) return real_or_null([&] { return real::allocate_zeroed(bytes); });
        clear(static_cast<std::byte*>(p), bytes);
        return p;
    }

    // The C library handles an alignment that is not a power of two.
    static void* allocate_aligned(std::size_t alignment, std::size_t bytes, const call_site& site) noexcept {
        const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
        if (is_power && alignment <= usual_alignment) return take(bytes, usual_alignment, site);
        if (is_power && (bytes >= huge_bytes || alignment >= huge_alignment)) return take_huge(bytes, alignment, site);
        void* const p = is_power ? take_from_heap(bytes, alignment, site) : nullptr;
        return p != nullptr ? p : real_or_null([&] { return real::allocate_aligned(alignment, bytes); });
    }

    static void* reallocate(void* old, std::size_t bytes, const call_site& site) noexcept {
        if (!heap_region::contains(old)) return real::reallocate(old, bytes);
        const std::size_t held = usable_size(old);
        // A mostly empty block is worth a move, unless it is small anyway.
        const bool fits = bytes <= held;
        if (fits && (bytes > held / 2 || held <= 128)) return old;
        const int before = errno;
        void* const fresh = take(bytes, usual_alignment, site);
        if (fresh == nullptr) {
            if (fits) errno = before;
            return fits ? old : nullptr;
        }
        memcpy(fresh, old, fits ? bytes : held);
        deallocate(old);
        return fresh;
    }

    static void deallocate(void* p) noexcept {
        if (!heap_region::contains(p) || !enter_alone()) [[unlikely]]
            return deallocate_otherwise(p);
        if constexpr (requires { heap_at<plain_heap>()->try_deallocate(p); }) {
            if (!heap_at<plain_heap>()->try_deallocate(p)) [[unlikely]]
                return deallocate_and_leave(p);
        } else {
            heap_at<plain_heap>()->deallocate(p);
        }
        lock_.leave();
    }

    static std::size_t usable_size(void* p) noexcept {
        if (!heap_region::contains(p)) return real::usable_size(p);
        // Without the lock the holder does not run: it is interrupted, or is not here. So a live block's tag is whole.
        const visit here;
        return on_heap([p](auto& heap) { return heap.usable_bytes(p); });
    }

    // Called once, before any other library's start-up code. The heap may have been built by then.
    static void start() noexcept {
        const int before = errno;
        real::is_libc();
        (void)fork_mark::claim();
        fork_mark::set();
        holder_lock::before_waiting = []() noexcept {
            adopt_if_child([](holder_lock::thread_id survivor) noexcept { lock_.retire_unless_held_by(survivor); });
        };
        if (real::provider_is_bound()) {
            // No thread has the lock any more, so every call goes to the provider.
            constexpr holder_lock::thread_id nobody = 8;
            if (lock_.lock(nobody)) lock_.retire_unless_held_by(0);
            real::say_bound("this malloc");
        }
        errno = before;
    }

    // O(blocks).
    static classic::heap_record record() noexcept {
        const visit here;
        if (!here || built_ == nothing) return {};
        return on_heap([](auto& heap) { return heap.record(); });
    }

    // A classic allocator returns no memory while it has blocks.
    static bool trim() noexcept { return false; }

    // Prints statistics at the end of the process, if MILLPOND_STATS asks for them.
    static void say_statistics(const char* name) noexcept {
        if (!exit_statistics::are_wanted()) return;
        exit_statistics::say(name, record());
        const visit here;
        if (!here || built_ != counted) return;
        const auto& heap = *heap_at<counted_heap>();
        exit_statistics::say(name, "", heap.operations());
        if constexpr (requires { heap.general_operations(); })
            exit_statistics::say(name, ", behind its lists", heap.general_operations());
        if constexpr (requires { heap.short_operations(); })
            exit_statistics::say_arena(name, heap.short_operations(), heap.held_chunks());
    }

  private:
    static constexpr std::size_t usual_alignment = classic::pointer_words::alignment;
    static constexpr std::size_t fresh_pages_bytes = std::size_t{256} << 10;
    static constexpr std::size_t huge_bytes = HugeBytes;
    static constexpr std::size_t huge_alignment = std::size_t{1} << 20;  // the heap would pad such a block by as much

    // Returns the thread's control block, whose first word is its own address, as pthread_self does.
    [[gnu::always_inline]] static holder_lock::thread_id this_thread() noexcept {
        return reinterpret_cast<holder_lock::thread_id>(__builtin_thread_pointer());
    }

    // The path of nearly all calls in a process of one thread, which saves no register for another path. Returns: true
    // if the lock is taken and the heap is plain_heap.
    [[gnu::always_inline]] static bool enter_alone() noexcept {
        return __libc_single_threaded != 0 && built_ == plain && lock_.enter(this_thread());
    }

    // Holds the lock, or nothing if it cannot be taken.
    class visit {
      public:
        visit() noexcept {
            const holder_lock::thread_id self = this_thread();
            if (__libc_single_threaded != 0 && lock_.enter(self)) [[likely]]
                held_ = entered;
            else if (lock_.lock(self))
                held_ = locked;
        }
        ~visit() {
            if (held_ == entered) [[likely]]
                lock_.leave();
            else if (held_ == locked)
                lock_.unlock();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        explicit operator bool() const noexcept { return held_ != no; }

      private:
        enum { no, entered, locked } held_ = no;
    };

    struct kept {
        kept* next;
    };

    [[gnu::always_inline]] static void* take(std::size_t bytes, std::size_t alignment, const call_site& site) noexcept {
        if (bytes >= huge_bytes) [[unlikely]]
            return take_huge(bytes, alignment, site);
        void* const p = take_from_heap(bytes, alignment, site);
        if (p != nullptr) [[likely]]
            return p;
        return real_or_null([bytes] { return real::allocate(bytes); });
    }

    [[gnu::always_inline]] static void* take_from_heap(std::size_t bytes, std::size_t alignment,
                                                       const call_site& site) noexcept {
        if (__atomic_load_n(&kept_, __ATOMIC_RELAXED) != nullptr || !enter_alone()) [[unlikely]]
            return take_by_lock(bytes, alignment, site);
        void* const p = take_in(*heap_at<plain_heap>(), bytes, alignment, site);
        lock_.leave();
        return p;
    }

    template <class Any>
    [[gnu::always_inline]] static void* take_in(Any& heap, std::size_t bytes, std::size_t alignment,
                                                const call_site& site) noexcept {
        if constexpr (requires { heap.try_allocate(bytes, alignment, site); })
            return heap.try_allocate(bytes, alignment, site);
        else
            return heap.try_allocate(bytes, alignment);
    }

    [[gnu::noinline]] static void* take_by_lock(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        const visit here;
        if (!here) [[unlikely]]
            return nullptr;
        if (built_ == nothing) [[unlikely]]
            build();
        if (__atomic_load_n(&kept_, __ATOMIC_RELAXED) != nullptr) [[unlikely]]
            collect();
        return on_heap([=](auto& heap) { return take_in(heap, bytes, alignment, site); });
    }

    [[gnu::noinline]] static void deallocate_and_leave(void* p) noexcept {
        heap_at<plain_heap>()->deallocate(p);
        lock_.leave();
    }

    [[gnu::noinline]] static void deallocate_otherwise(void* p) noexcept {
        if (!heap_region::contains(p)) return real::deallocate(p);
        const visit here;
        if (here) [[likely]]
            return on_heap([p](auto& heap) { heap.deallocate(p); });
        // If no thread will ever have the lock, no allocation would collect the block.
        if (!lock_.is_retired()) keep_for_later(p);
    }

    [[gnu::noinline]] static void* take_huge(std::size_t bytes, std::size_t alignment, call_site site) noexcept {
        return real_or_null([=] {
            void* const p =
                alignment <= usual_alignment ? real::allocate(bytes) : real::allocate_aligned(alignment, bytes);
            return p != nullptr ? p : take_by_lock(bytes, alignment, site);
        });
    }

    [[gnu::noinline]] static void* take_huge_zeroed(std::size_t bytes, call_site site) noexcept {
        return real_or_null([=] {
            void* p = real::allocate_zeroed(bytes);
            if (p != nullptr) return p;
            p = take_by_lock(bytes, usual_alignment, site);
            if (p != nullptr) clear(static_cast<std::byte*>(p), bytes);
            return p;
        });
    }

    // The C library's malloc may set errno although it finds memory at its second try.
    template <class Allocate>
    [[gnu::noinline, gnu::cold]] static void* real_or_null(Allocate allocate) noexcept {
        const int before = errno;
        void* const p = allocate();
        if (p != nullptr) errno = before;
        return p;
    }

    static void clear(std::byte* p, std::size_t bytes) noexcept {
        if (bytes < fresh_pages_bytes) {
            memset(p, 0, bytes);
            return;
        }
        const std::size_t page = os::pages::size();
        const std::size_t first = millpond::detail::padding_to(p, page);
        const std::size_t inside = (bytes - first) & ~(page - 1);
        memset(p, 0, first);
        os::pages::discard(p + first, inside);
        memset(p + first + inside, 0, bytes - first - inside);
    }

    // ── the heap, under the lock ────────────────────────────────────────────────────────────────────────────────────

    template <class Any>
    static Any* heap_at() noexcept {
        return std::launder(reinterpret_cast<Any*>(place_));
    }
    template <class Use>
    [[gnu::always_inline]] static auto on_heap(Use use) noexcept {
        return built_ == plain ? use(*heap_at<plain_heap>()) : use(*heap_at<counted_heap>());
    }

    [[gnu::noinline, gnu::cold]] static void build() noexcept {
        if (exit_statistics::are_wanted()) {
            new (place_) counted_heap();
            built_ = counted;
        } else {
            new (place_) plain_heap();
            built_ = plain;
        }
    }

    // Takes no lock.
    static void keep_for_later(void* p) noexcept {
        auto* const one = static_cast<kept*>(p);
        kept* seen = __atomic_load_n(&kept_, __ATOMIC_RELAXED);
        do one->next = seen;
        while (!__atomic_compare_exchange_n(&kept_, &seen, one, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    }
    [[gnu::noinline, gnu::cold]] static void collect() noexcept {
        kept* each = __atomic_exchange_n(&kept_, nullptr, __ATOMIC_ACQUIRE);
        while (each != nullptr) {
            kept* const next = each->next;
            on_heap([each](auto& heap) { heap.deallocate(each); });
            each = next;
        }
    }

    enum building { nothing, plain, counted };

    static constinit inline holder_lock lock_;
    static constinit inline building built_ = nothing;
    static constinit inline kept* kept_ = nullptr;
    static constexpr std::size_t place_bytes = sizeof(plain_heap) > sizeof(counted_heap) ? sizeof(plain_heap)
                                                                                         : sizeof(counted_heap);
    alignas(64) static constinit inline std::byte place_[place_bytes]{};
};

}  // namespace millpond::preload
