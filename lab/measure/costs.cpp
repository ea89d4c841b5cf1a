// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/costs.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "lab/measure/clocks.hpp"
#include "lab/program/model_page.hpp"
#include "millpond/os/pages.hpp"

namespace millpond::measure {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

double now_ns() { return static_cast<double>(wall_ns()); }

// Makes the compiler assume that the memory behind `p` is read.
void escape(const void* p) { asm volatile("" : : "g"(p) : "memory"); }

template <typename Operation>
cost_samples samples_of(std::size_t operations, Operation operation) {
    cost_samples result;
    for (std::size_t sample = 0; sample < cost_sample_count; ++sample) {
        const double begin = now_ns();
        for (std::size_t i = 0; i < operations; ++i) operation();
        result.push_back((now_ns() - begin) / static_cast<double>(operations));
    }
    return result;
}

std::uint64_t small_faults() {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt);
}

class mapping {
  public:
    explicit mapping(std::size_t bytes) : bytes_(bytes) {
        void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        data_ = p == MAP_FAILED ? nullptr : static_cast<char*>(p);
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }
    char* data() const { return data_; }

  private:
    char* data_;
    std::size_t bytes_;
};

// Touches every page of the range; returns the nanoseconds and page faults.
std::pair<double, std::uint64_t> touch(char* begin, std::size_t bytes, std::size_t page_bytes) {
    const std::uint64_t before = small_faults();
    const double start = now_ns();
    for (std::size_t at = 0; at < bytes; at += page_bytes) *static_cast<volatile char*>(begin + at) = 1;
    return {now_ns() - start, small_faults() - before};
}

}  // namespace

cost_samples cycle_cost() {
#if defined(__x86_64__)
    constexpr std::size_t additions = 64;
    std::uint64_t sum = 1, one = 1;
    cost_samples result = samples_of(20'000, [&] {
        asm volatile(".rept %c2\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one), "i"(additions));
    });
    for (double& ns : result) ns /= additions;
    return result;
#else
    return {};
#endif
}

cost_samples time_stamp_cost() {
#if defined(__x86_64__)
    return samples_of(100'000, [] {
        const auto ticks = __rdtsc();
        asm volatile("" : : "r"(ticks));
    });
#else
    return clock_cost();
#endif
}

cost_samples clock_cost() {
    return samples_of(50'000, [] {
        timespec now;
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        escape(&now);
    });
}

cost_samples allocation_cost() {
    return samples_of(100'000, [] {
        void* const p = std::malloc(64);
        escape(p);
        std::free(p);
    });
}

namespace {

constexpr std::size_t line_bytes = 64;

// A single cycle through `count` lines in random order (Sattolo): no prefetcher can guess the next one. Line i lies at
// place_of(i), within `bytes`. Empty if memory cannot be mapped.
template <typename Place>
cost_samples latency_of_lines(std::uint32_t count, std::size_t bytes, Place place_of) {
    const mapping memory(bytes);
    if (memory.data() == nullptr) return {};
    ::madvise(memory.data(), bytes, MADV_NOHUGEPAGE);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::uint64_t state = 20;
    for (std::uint32_t i = count - 1; i > 0; --i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        std::swap(order[i], order[(state >> 33) % i]);
    }
    const auto line = [&](std::uint32_t i) {
        return reinterpret_cast<void**>(memory.data() + place_of(order[i % count]));
    };
    for (std::uint32_t i = 0; i < count; ++i) *line(i) = line(i + 1);
    void** at = line(0);
    // Afterwards a cache holds as many of the lines as fit, and every page has been translated.
    for (std::uint32_t i = 0; i < count; ++i) at = static_cast<void**>(*at);
    cost_samples result = samples_of(100'000, [&] { at = static_cast<void**>(*at); });
    escape(at);
    return result;
}

}  // namespace

std::vector<set_latency> memory_latencies() {
    std::vector<set_latency> result;
    for (std::size_t set = smallest_set_bytes; set <= largest_set_bytes; set *= 2) {
        const auto lines = static_cast<std::uint32_t>(set / line_bytes);
        result.push_back({set, latency_of_lines(lines, set, [](std::size_t i) { return i * line_bytes; })});
    }
    return result;
}

std::vector<page_latency> page_latencies() {
    std::vector<page_latency> result;
    constexpr std::size_t page_bytes = program::model_page_bytes;
    if (os::pages::size() != page_bytes) return result;  // simulators know the costs of such pages only
    for (std::size_t pages = fewest_pages; pages <= most_pages; pages *= 2) {
        // The line lies one further in each page, so that the lines spread over all sets of a cache.
        const auto place = [](std::size_t i) { return i * page_bytes + i * line_bytes % page_bytes; };
        const auto lines = static_cast<std::uint32_t>(pages);
        result.push_back({pages, latency_of_lines(lines, pages * page_bytes, place)});
    }
    return result;
}

cost_samples page_fault_cost() {
    constexpr std::size_t bytes = std::size_t{8} << 20;
    cost_samples result;
    for (std::size_t sample = 0; sample < cost_sample_count; ++sample) {
        const mapping fresh(bytes);
        if (fresh.data() == nullptr) return {};
        ::madvise(fresh.data(), bytes, MADV_NOHUGEPAGE);  // fails on a kernel without huge pages, which is as good
        const auto [ns, faults] = touch(fresh.data(), bytes, os::pages::size());
        result.push_back(ns / static_cast<double>(std::max<std::uint64_t>(1, faults)));
    }
    return result;
}

huge_page_cost huge_page_fault_cost() {
    constexpr std::size_t pages = 8;
    huge_page_cost result;
    for (std::size_t sample = 0; sample < cost_sample_count; ++sample) {
        const mapping fresh((pages + 1) * huge_page_bytes);
        if (fresh.data() == nullptr) return {{}, "memory cannot be mapped"};
        const auto address = reinterpret_cast<std::uintptr_t>(fresh.data());
        char* const aligned = fresh.data() + (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
        if (::madvise(aligned, pages * huge_page_bytes, MADV_HUGEPAGE) != 0)
            return {{}, std::string("the kernel refuses MADV_HUGEPAGE: ") + std::strerror(errno)};
        const auto [ns, faults] = touch(aligned, pages * huge_page_bytes, os::pages::size());
        if (faults > 2 * pages) return {{}, "the kernel took small pages although MADV_HUGEPAGE asked for huge ones"};
        result.samples.push_back(ns / static_cast<double>(pages));
    }
    return result;
}

std::optional<bool> time_stamp_is_invariant() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007U, &a, &b, &c, &d) == 0) return std::nullopt;
    return (d & (1U << 8)) != 0;
#else
    return std::nullopt;
#endif
}

unsigned long spin(unsigned long steps) {
    constexpr std::size_t live = 4096;
    std::vector<unsigned char*> heap(live, nullptr);
    std::uint64_t state = 7;
    unsigned long sum = 0;
    for (unsigned long step = 0; step < steps; ++step) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        unsigned char*& slot = heap[(state >> 40) % live];
        if (slot != nullptr) sum += *slot;
        std::free(slot);
        slot = static_cast<unsigned char*>(std::malloc(16 + (state >> 20) % 240));
        if (slot == nullptr) std::abort();
        *slot = static_cast<unsigned char>(step);
    }
    for (unsigned char* slot : heap) std::free(slot);
    return sum;
}

}  // namespace millpond::measure
