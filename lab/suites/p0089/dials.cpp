// SPDX-License-Identifier: BSL-1.0
// dials: the benchmark that P0089R0 (section 6) wanted but found hard to invent: a dial for each of D, V, L, U and C.
//
//   thread ─▶ │S│S│S│S│S│S│S│S│   each S: allocator, ring of live blocks              W of them at once
//   fill      every ring
//   turn      accesses, round and round the ring of one S, until its visit ends and the next S has its turn
//             then a pair there: the oldest block freed, one allocated in its place
//   end       all threads wait: every block of the peak is alive now; then each ring is freed
//
// The first word of a block counts its accesses. dials_shape explains the dials. In addition to the usual figures, a
// round reports accesses, lines and transitions of the first subsystem, from which its locality follows. A recording
// with references measures the same: the calls for the first ring come from a class of their own, an access is one
// reference, and the turns touch nothing else in the heap.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "blocks.hpp"
#include "dials_shape.hpp"
#include "lab/suites/common/team.hpp"
#include "lab/suites/frame/window.hpp"
#include "millpond/bind/allocator.hpp"
#include "millpond/local/arena.hpp"
#include "pools.hpp"
#include "workload.hpp"

namespace millpond::p0089 {
namespace {

constexpr parameter parameters[] = {
    {"density", 400, 1, 1000, "D in thousandths: allocation's share of the work"},
    {"variation", 800, 0, 960, "V in thousandths: of the sizes of blocks"},
    {"locality", 500, 0, 1000, "L in thousandths: of the accesses"},
    {"utilization", 100, 0, 1000, "U in thousandths: alive at once, of all that is allocated"},
    {"contention", 0, 0, 1000, "C in thousandths: threads that allocate at once, of all. Density limits it"},
    {"threads", 1, 1, 64, "W"},
    {"log2_operations", 20, 8, 34, "allocations and frees in all"},
    frame::seed_parameter,
};

// The turns' own data lie here, not in the heap, so that a recording has only the blocks.
using books = millpond::arena;
template <class T>
using book = std::vector<T, millpond::allocator<T, books>>;

class size_sequence {
  public:
    size_sequence(const std::vector<std::uint32_t>& sizes, books& in) : sizes_(sizes.begin(), sizes.end(), &in) {}
    std::uint32_t next() noexcept { return sizes_[at_++ & (sizes_.size() - 1)]; }

  private:
    book<std::uint32_t> sizes_;
    std::size_t at_ = 0;
};

// An allocator, and blocks of it in the order of their age. The pointers to them are not measured.
template <class C>
class ring {
  public:
    ring(std::uint64_t live, books& in) : blocks_(live, &in) {}
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring() { empty(); }  // only if memory ran out

    [[gnu::always_inline]] void fill(size_sequence& sizes) {
        for (block& each : blocks_) take(each, sizes.next());
    }
    [[gnu::always_inline]] void replace_oldest(std::uint32_t bytes) {
        block& chosen = blocks_[oldest_];
        give(chosen);
        suites::clobber();
        take(chosen, bytes);
        if (++oldest_ == blocks_.size()) oldest_ = 0;
    }
    void access(std::uint64_t times) noexcept {
        accesses_ += times;
        for (; times > 0; --times) {
            count_up(static_cast<std::uint64_t*>(blocks_[next_].memory));
            if (++next_ == blocks_.size()) next_ = 0;
        }
    }
    void empty() noexcept {
        for (block& each : blocks_) give(each);
    }
    // Returns: a sum over all freed blocks, of their sizes and access counts.
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
    [[nodiscard]] std::uint64_t lines() const noexcept { return blocks_.size(); }
    [[nodiscard]] std::uint64_t accesses() const noexcept { return accesses_; }

  private:
    struct block {
        void* memory = nullptr;
        std::uint64_t bytes = 0;
    };

    // One access to memory that the compiler cannot remove.
    [[gnu::always_inline]] static void count_up(std::uint64_t* word) noexcept {
#if defined(__x86_64__)
        __asm__ volatile("incq %0" : "+m"(*word) : : "cc");
#else
        auto* const counted = static_cast<volatile std::uint64_t*>(word);
        *counted = *counted + 1;
#endif
    }

    [[gnu::always_inline]] void take(block& to, std::uint32_t bytes) {
        to.memory = C::take(C::handle(pool_), bytes, block_alignment);
        to.bytes = bytes;
        *static_cast<volatile std::uint64_t*>(to.memory) = 0;
        ++accesses_;
    }
    [[gnu::always_inline]] void give(block& from) noexcept {
        if (from.memory == nullptr) return;
        ++accesses_;
        sum_ += (*static_cast<volatile std::uint64_t*>(from.memory) + 1) * from.bytes;
        C::give(C::handle(pool_), std::exchange(from.memory, nullptr), from.bytes, block_alignment);
    }

    typename C::pool pool_;
    book<block> blocks_;
    std::size_t oldest_ = 0;
    std::size_t next_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t accesses_ = 0;
};

// Divides a total into so many parts, as equal as possible.
class equal_parts {
  public:
    equal_parts(std::uint64_t whole, std::uint64_t parts) : each_(whole / parts), rest_(whole % parts), parts_(parts) {}
    std::uint64_t next() noexcept {
        owed_ += rest_;
        if (owed_ < parts_) return each_;
        owed_ -= parts_;
        return each_ + 1;
    }

  private:
    std::uint64_t each_, rest_, parts_;
    std::uint64_t owed_ = 0;
};

// The work of one thread.
template <class C>
class visitor {
  public:
    visitor(const thread_work& work, const std::vector<std::uint32_t>& sizes) : work_(work), sizes_(sizes, books_) {
        for (auto& each : all_)
            each.reset(::new (books_.allocate(sizeof(ring<C>), alignof(ring<C>))) ring<C>(work.live, books_));
    }

    [[gnu::noinline]] void fill() {
        first_ring::fill(*all_.front(), sizes_);
        for (std::size_t i = 1; i < all_.size(); ++i) all_[i]->fill(sizes_);
    }
    [[gnu::noinline]] void run() {
        const std::uint64_t pairs = work_.blocks - work_.live * subsystems_of_a_thread;
        equal_parts accesses(work_.accesses, std::max<std::uint64_t>(1, pairs));
        // Without accesses, a visit lasts until every block of the subsystem was replaced.
        const std::uint64_t pairs_of_visit = work_.accesses == 0 ? work_.live : 0;
        left_ = work_.visit;
        access(accesses.next());
        for (std::uint64_t i = 0; i < pairs; ++i) {
            replace_oldest();
            if (pairs_of_visit != 0 && (i + 1) % pairs_of_visit == 0) leave();
            if (i + 1 < pairs) access(accesses.next());
        }
    }
    [[gnu::noinline]] std::uint64_t end() noexcept {
        std::uint64_t sum = 0;
        for (auto& each : all_) {
            each->empty();
            sum += each->sum();
        }
        return sum;
    }
    // Returns I, M and T of the first subsystem.
    [[nodiscard]] std::vector<frame::figure> locality() const {
        return {{"accesses", static_cast<double>(all_.front()->accesses())},
                {"lines", static_cast<double>(all_.front()->lines())},
                {"transitions", static_cast<double>(transitions_)}};
    }

  private:
    // A recording names subsystems by the classes that allocate; this class names the first one.
    struct first_ring {
        [[gnu::noinline]] static void fill(ring<C>& first, size_sequence& sizes) { first.fill(sizes); }
        [[gnu::noinline]] static void replace_oldest(ring<C>& first, std::uint32_t bytes) {
            first.replace_oldest(bytes);
        }
    };

    struct ring_end {  // `books` keeps its memory
        void operator()(ring<C>* each) const { std::destroy_at(each); }
    };

    void replace_oldest() {
        const std::uint32_t bytes = sizes_.next();
        if (at_ == 0)
            first_ring::replace_oldest(*all_.front(), bytes);
        else
            all_[at_]->replace_oldest(bytes);
        left_ -= std::min(left_ - 1, accesses_of_pair);
    }
    void access(std::uint64_t times) noexcept {
        while (times >= left_) {
            times -= left_;
            all_[at_]->access(left_);
            leave();
        }
        all_[at_]->access(times);
        left_ -= times;
    }
    void leave() noexcept {
        left_ = work_.visit;
        transitions_ += at_ == 0;
        if (++at_ == all_.size()) at_ = 0;
    }

    static constexpr std::uint64_t accesses_of_pair = 2;  // to the freed block, and to the new one

    thread_work work_;
    books books_;
    size_sequence sizes_;
    std::array<std::unique_ptr<ring<C>, ring_end>, subsystems_of_a_thread> all_;
    std::size_t at_ = 0;
    std::uint64_t left_ = 0;
    std::uint64_t transitions_ = 0;  // from the first subsystem to the second
};

template <class C>
struct dials_runner {
    static outcome run(const point& asked) {
        const dial_values dials(asked);
        const std::vector<std::uint32_t> sizes = sizes_of_variation(dials.variation, asked.seed());
        std::vector<thread_work> works = work_of_threads(dials);
        if (asked.is_for_littering) {
            for (thread_work& each : works) each.accesses = 0;
        }
        outcome result;
        std::atomic<std::uint64_t> sum = 0;
        frame::window measured;
        // `part` runs each part of the work. Threads wait for one another between parts.
        const auto work = [&](std::uint64_t index, auto arrive, auto part) {
            std::optional<visitor<C>> mine;
            part([&] {
                mine.emplace(works[index], sizes);
                mine->fill();
                mine->run();
            });
            arrive();
            part([&] {
                sum += mine->end();
                if (index == 0) result.set_all(mine->locality());
                mine.reset();
            });
        };
        measured.run(result, [&] {
            if (works.size() == 1) {
                work(0, [] {}, [](auto body) { body(); });
            } else {
                suites::team().run(works.size(), [&](std::uint64_t index, auto arrive) {
                    work(index, arrive, [](auto body) { frame::measured_part(body); });
                });
            }
        });
        result.checksum = sum;
        std::uint64_t blocks = 0;
        for (const thread_work& each : works) blocks += each.blocks;
        result.set_count("units", blocks);
        return result;
    }
};

outcome run(const point& asked) { return chosen<dials_runner>(by(asked))(asked); }

std::string misfit(const point& asked) {
    const dial_values dials(asked);
    const contention_range range = contention_within(dials);
    constexpr double half = 0.0005;  // half a unit of the dial's last digit
    if (dials.contention >= range.least - half && dials.contention <= range.most + half) return {};
    const auto thousandths = [](double value) { return std::to_string(std::lround(value * 1000)); };
    return "contention is from " + thousandths(range.least) + " to " + thousandths(range.most) +
           " at this density and with so many threads";
}

std::uint64_t least_bytes(const point& asked) {
    constexpr std::uint64_t smallest_bytes = 80;
    std::uint64_t blocks = 0;
    for (const thread_work& each : work_of_threads(dial_values(asked))) {
        blocks += by(asked).pool == pool_kind::monotonic ? each.blocks : each.live * subsystems_of_a_thread;
    }
    return blocks * smallest_bytes;
}

}  // namespace

const workload dials{.name = "dials",
                     .unit = "block",
                     .parameters = parameters,
                     .takes = takes_what_destroys,
                     .run = run,
                     .misfit = misfit,
                     .least_bytes = least_bytes};

}  // namespace millpond::p0089
