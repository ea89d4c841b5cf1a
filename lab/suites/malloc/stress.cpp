// SPDX-License-Identifier: BSL-1.0
// stress: for a given time, calls malloc, calloc, realloc, aligned_alloc and free at random, on blocks of any size.
// Threads end and are replaced, and free blocks of others; every block's contents are checked.
//
//   thread ── 2000 operations on its slots; some blocks are swapped with those of the table that all share ── ends
//        └──▶ its successor goes on with the slots                        sampled: resident bytes, 256 times
//
// slope_share: the growth of the resident bytes from the first quarter of the time to the end, as a share of their
// mean, with the interval slope_low to slope_high (growth_line.hpp). The number of live blocks is constant. A block
// whose contents changed ends the program with a message and exit status 1.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "growth_line.hpp"
#include "lab/program/program.hpp"
#include "lab/suites/common/meter.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::malloc_suite {
namespace {

using clock = std::chrono::steady_clock;

// A block knows its size and its seal, the value of all its bytes.
struct sealed_block {
    std::size_t bytes;
    unsigned char seal;
};

constexpr std::size_t head_bytes = sizeof(sealed_block);
constexpr unsigned samples = 256;
constexpr std::uint32_t shared_slots = 1024, operations_of_a_life = 20'000;

// Effects: sets the bytes from `from` on to the seal; the bytes before it have it already.
void fill(void* block, std::size_t from, std::size_t bytes, unsigned char seal) {
    auto* const start = static_cast<unsigned char*>(block);
    const sealed_block head{bytes, seal};
    if (from < bytes) std::memset(start + from, seal, bytes - from);
    std::memcpy(start, &head, sizeof head);
}

// Throws: program::failure.
sealed_block check(const void* block) {
    const auto* const start = static_cast<const unsigned char*>(block);
    sealed_block head;
    std::memcpy(&head, start, sizeof head);
    bool is_whole = head.bytes >= head_bytes;
    for (std::size_t i = head_bytes; is_whole && i < head.bytes; ++i) is_whole = start[i] == head.seal;
    if (!is_whole) throw program::failure(program::gate, "a block's contents have changed");
    return head;
}

class stress_run {
  public:
    stress_run(const point& asked) : sizes_(asked.count("most")), live_(asked.count("live")) {}

    // Effects: runs threads one after the other on the same slots, until the time is over.
    void line(std::uint64_t seed, clock::time_point end) {
        std::vector<void*> slots(live_);
        for (std::uint64_t life = 0; clock::now() < end; ++life) {
            std::thread([&] { live(slots, random_numbers(seed * 1'000'003 + life)); }).join();
            if (error_) break;
        }
        for (void* each : slots) give(each);
    }
    void free_shared() {
        for (std::atomic<void*>& each : shared_) give(each.exchange(nullptr));
    }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }
    [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  private:
    void live(std::vector<void*>& slots, random_numbers random) {
        try {
            for (std::uint32_t i = 0; i < operations_of_a_life; ++i) {
                void*& slot = slots[random.below(static_cast<std::uint32_t>(slots.size()))];
                slot = random.below(8) == 0 ? shared_[random.below(shared_slots)].exchange(slot) : renew(slot, random);
            }
            operations_ += operations_of_a_life;
        } catch (...) {
            if (!is_failed_.test_and_set()) error_ = std::current_exception();
        }
    }

    [[nodiscard]] void* renew(void* old, random_numbers& random) {
        const std::size_t bytes = head_bytes + sizes_.next(random);
        const auto seal = static_cast<unsigned char>(random.next());
        void* block = nullptr;
        switch (random.below(8)) {
            case 0:
                block = std::calloc(bytes, 1);
                if (block != nullptr && !is_zero(static_cast<const char*>(block), bytes))
                    throw program::failure(program::gate, "a byte of calloc is not 0");
                give(old);
                break;
            case 1: {
                const std::size_t alignment = std::size_t{16} << random.below(9);
                // A size that is a multiple of the alignment: the only kind that every edition of C supports.
                const std::size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
                block = std::aligned_alloc(alignment, rounded);
                if ((reinterpret_cast<std::uintptr_t>(block) & (alignment - 1)) != 0)
                    throw program::failure(program::gate, "a block is not aligned: aligned_alloc(" +
                                                              std::to_string(alignment) + ", " +
                                                              std::to_string(rounded) + ")");
                give(old);
                break;
            }
            case 2:
                return old != nullptr ? resize(old, bytes) : nullptr;
            default:
                give(old);
                block = std::malloc(bytes);
        }
        if (block == nullptr) throw std::bad_alloc();
        fill(block, head_bytes, bytes, seal);
        return block;
    }
    [[nodiscard]] static void* resize(void* old, std::size_t bytes) {
        const sealed_block head = check(old);
        void* const block = std::realloc(old, bytes);
        if (block == nullptr) throw std::bad_alloc();
        const std::size_t kept = head.bytes < bytes ? head.bytes : bytes;
        fill(block, kept, kept, head.seal);
        check(block);
        fill(block, kept, bytes, head.seal);
        return block;
    }
    [[nodiscard]] static bool is_zero(const char* bytes, std::size_t count) noexcept {
        return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, count - 1) == 0;
    }
    static void give(void* block) {
        if (block != nullptr) check(block);
        std::free(block);
    }

    drawn_sizes sizes_;
    std::size_t live_;
    std::array<std::atomic<void*>, shared_slots> shared_{};
    std::atomic<std::uint64_t> operations_{0};
    std::atomic_flag is_failed_ = ATOMIC_FLAG_INIT;
    std::exception_ptr error_;
};

outcome run_stress(const point& asked) {
    const std::chrono::duration<double> time(static_cast<double>(asked.count("seconds")));
    stress_run all(asked);
    std::vector<double> resident;
    resident.reserve(samples);
    outcome result;
    frame::window measured;
    measured.run(result, [&] {
        const auto start = clock::now();
        const auto at = [&](unsigned sample) {
            return start + std::chrono::duration_cast<clock::duration>(time * (sample + 1) / samples);
        };
        std::vector<std::thread> lines;
        lines.reserve(asked.count("threads"));
        for (std::uint64_t i = 0; i < asked.count("threads"); ++i)
            lines.emplace_back([&, i] { all.line(asked.seed() + i, at(samples - 1)); });
        for (unsigned i = 0; i < samples; ++i) {
            std::this_thread::sleep_until(at(i));
            resident.push_back(static_cast<double>(suites::resident_bytes()));
        }
        for (std::thread& each : lines) each.join();
        all.rethrow();
        all.free_shared();
    });
    result.set_count("units", all.operations());
    const growth_line growth = growth_line::of(resident);
    result.set("slope_share", growth.share);
    result.set("slope_low", growth.low);
    result.set("slope_high", growth.high);
    result.set("mean_bytes", growth.mean);
    return result;
}

constexpr parameter parameters[] = {{"seconds", 600, 1, 1'000'000, "of stress"},
                                    {"threads", 4, 1, 1024, "that run at once"},
                                    {"live", 2000, 1, std::int64_t{1} << 31, "blocks of a thread"},
                                    {"most", 65536, 32, std::int64_t{1} << 30, "bytes of a block"},
                                    frame::seed_parameter};
constexpr metric metrics[] = {"slope_share", "slope_low", "slope_high", "mean_bytes"};

}  // namespace

const workload stress{
    .name = "stress", .unit = "operation", .parameters = parameters, .metrics = metrics, .run = run_stress};

}  // namespace millpond::malloc_suite
