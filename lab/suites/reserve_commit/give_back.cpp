// SPDX-License-Identifier: BSL-1.0
// give_back: touches a range, gives it back to the system in one way, and touches it again.
//
//   touch ── resident ──▶ give back ── resident? ──▶ touch again ── resident
//
//   keep            nothing is given back: the cost of touching only
//   madv_free       the system takes the pages when it is short of memory; until then they count as resident
//   madv_dontneed   gone at once; the next touch faults
//   decommit        gone at once, with the charge; committed again before the next touch
//
// The window begins after the first touch. Every page is written once; the checksum reads the values written last.
#include <sys/mman.h>

#include <stdexcept>

#include "lab/suites/frame/window.hpp"
#include "millpond/os/pages.hpp"
#include "workload.hpp"

namespace millpond::reserve_commit {
namespace {

constexpr parameter parameters[] = {
    {"log2_bytes", 26, 12, 40, "bytes of the range"}, pages_parameter, frame::seed_parameter};
constexpr metric metrics[] = {"touch_seconds", "give_seconds", "again_seconds", "both_seconds",
                              "touched_bytes", "given_bytes",  "given_share"};
const std::size_t page = os::pages::size();

class mapped_range {
  public:
    mapped_range(std::size_t bytes, bool huge) : bytes_(bytes) {
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        data_ = static_cast<unsigned char*>(memory);
        if (huge) ::madvise(memory, bytes, MADV_HUGEPAGE);
    }
    mapped_range(const mapped_range&) = delete;
    mapped_range& operator=(const mapped_range&) = delete;
    ~mapped_range() { ::munmap(data_, bytes_); }

    void touch(std::uint64_t seed) noexcept {
        for (std::size_t at = 0; at < bytes_; at += page) data_[at] = static_cast<unsigned char>(at / page + seed);
    }
    void give_back(contender how) {
        if (how == contender::madv_free) advise(MADV_FREE);
        if (how == contender::madv_dontneed) advise(MADV_DONTNEED);
        if (how == contender::decommit && !os::pages::decommit(data_, bytes_)) throw std::bad_alloc();
    }
    // Effects: allows touching it again.
    void take_again(contender how) {
        if (how == contender::decommit && !os::pages::commit(data_, bytes_)) throw std::bad_alloc();
    }
    [[nodiscard]] std::uint64_t checksum() const noexcept {
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at < bytes_; at += page) sum = sum * 31 + data_[at];
        return sum;
    }

  private:
    void advise(int advice) {
        if (::madvise(data_, bytes_, advice) != 0)
            throw std::runtime_error("this system does not support this madvise");
    }

    std::size_t bytes_;
    unsigned char* data_ = nullptr;
};

double resident() noexcept { return static_cast<double>(suites::resident_bytes()); }

outcome run(const point& asked) {
    const bool huge = choose_pages(asked);
    const contender how = contender_of(asked);
    outcome result;
    frame::window measured;
    const double base = resident();
    mapped_range range(asked.power("log2_bytes"), huge);
    suites::stopwatch clock;
    range.touch(asked.seed());
    const double touch_ns = clock.elapsed_ns();
    const double touched = resident();
    double give_ns = 0;
    double given = 0;
    double again_ns = 0;
    measured.run(result, [&] {
        clock.start();
        range.give_back(how);
        give_ns = clock.elapsed_ns();
        given = resident();
        clock.start();
        range.take_again(how);
        range.touch(asked.seed() + 1);
        again_ns = clock.elapsed_ns();
    });
    result.checksum = range.checksum();
    result.set_count("units", asked.power("log2_bytes") / page);
    result.set_all({
        {"touch_seconds", touch_ns * 1e-9},
        {"give_seconds", give_ns * 1e-9},
        {"again_seconds", again_ns * 1e-9},
        {"both_seconds", (give_ns + again_ns) * 1e-9},
        {"touched_bytes", touched - base},
        {"given_bytes", given - base},
        {"given_share", touched > base ? std::optional<double>((given - base) / (touched - base)) : std::nullopt},
    });
    return result;
}

}  // namespace

const workload give_back{.name = "give_back",
                         .unit = "page",
                         .parameters = parameters,
                         .metrics = metrics,
                         .takes = is_way_back,
                         .run = run,
                         .least_bytes = [](const point& asked) { return asked.power("log2_bytes"); }};

}  // namespace millpond::reserve_commit
