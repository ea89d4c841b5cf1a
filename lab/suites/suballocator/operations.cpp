// SPDX-License-Identifier: BSL-1.0
// operations: very many 8-byte numbers, allocated one by one. After chapters 4.3 (doubles) and 4.4 of the document.
//
//   doubles           allocate all · free them from the first to the last
//   five_operations   allocate all · free from the last to the first · (fill) free from the first to the last ·
//                     (fill) free every second one · (fill the gaps) free every second one and allocate it again
//   larger_blocks     allocate all, free all; then as many bytes in blocks of 4 KiB from operator new (chapter 4.1)
//
// Each operation is timed on its own. Operations in parentheses count only for the whole window. Every element is
// written when it is allocated. Resident bytes do not include the array of pointers: elements_bytes when all elements
// exist, freed_bytes when all were freed from the first to the last and the allocator lives on, kept_share the
// quotient; array_gone_bytes when the array of pointers is gone, too, and the allocator still lives (the third moment
// of the document's graph); end_bytes when both are gone. free_to_allocate is the time to free all doubles by that to
// allocate them. sum_share is what is resident with the larger blocks by the sum of both: 1 if neither can use the
// other's memory.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "contenders.hpp"
#include "lab/suites/common/slot_array.hpp"
#include "lab/suites/frame/window.hpp"
#include "workload.hpp"

namespace millpond::suballocator_suite {
namespace {

constexpr std::size_t element_bytes = 8;
constexpr std::size_t larger_block_bytes = 4096;
constexpr std::int64_t most_elements = std::int64_t{1} << 32;

constexpr parameter doubles_parameters[] = {
    {"count", 10'000'000, 1, most_elements, "doubles; the document: 100 000 000"},
    frame::seed_parameter,
};
constexpr parameter five_parameters[] = {
    {"count", 5'000'000, 1, most_elements, "numbers; the document: 50 000 000"},
    frame::seed_parameter,
};

constexpr metric doubles_metrics[] = {
    "allocate_seconds", "deallocate_seconds",         "elements_bytes", "freed_bytes", "array_gone_bytes",
    "kept_share",       {"free_to_allocate", "ratio"}};
constexpr metric larger_metrics[] = {"elements_bytes", "larger_bytes", {"sum_share", "share"}, "array_gone_bytes"};
constexpr metric five_metrics[] = {"allocate_seconds",
                                   "free_from_last_seconds",
                                   "free_from_first_seconds",
                                   "free_odd_seconds",
                                   "free_and_allocate_odd_seconds",
                                   "elements_bytes",
                                   "freed_bytes",
                                   "array_gone_bytes",
                                   "kept_share"};

// Effects: calls measure(array, resident bytes at first, result) while pool and array live. Both end within the window,
// the array first.
template <class C, class T, class Measure>
outcome run_with(const point& asked, Measure measure) {
    outcome result;
    frame::window measured;
    std::optional<typename C::pool> pool(std::in_place);
    const std::uint64_t without_array = suites::resident_bytes();
    std::optional<suites::slot_array<C, T>> array(std::in_place, *pool, count_of(asked));
    const std::uint64_t base = suites::resident_bytes();
    measured.run(result, [&] {
        measure(*array, base, result);
        array.reset();
        result.set("array_gone_bytes", resident_above(without_array));
        pool.reset();
    });
    result.set_count("units", count_of(asked));
    return result;
}

template <class C>
struct doubles_runner {
    static outcome run(const point& asked) { return run_with<C, double>(asked, measure); }

    static void measure(suites::slot_array<C, double>& work, std::uint64_t base, outcome& result) {
        const double allocate = seconds_of([&] { work.fill(); });
        const double elements_bytes = resident_above(base);
        result.checksum = work.sum();
        const double deallocate = seconds_of([&] { work.free_from_first(); });
        const double freed_bytes = resident_above(base);
        result.set_all({{"allocate_seconds", allocate},
                        {"deallocate_seconds", deallocate},
                        {"elements_bytes", elements_bytes},
                        {"freed_bytes", freed_bytes},
                        {"free_to_allocate", deallocate / allocate},
                        kept_share(elements_bytes, freed_bytes)});
    }
};

template <class C>
struct larger_runner {
    static outcome run(const point& asked) { return run_with<C, std::uint64_t>(asked, measure); }

    static void measure(suites::slot_array<C, std::uint64_t>& work, std::uint64_t base, outcome& result) {
        work.fill();
        const double elements_bytes = resident_above(base);
        result.checksum = work.sum();
        work.free_from_first();
        std::vector<std::unique_ptr<std::array<std::byte, larger_block_bytes>>> larger(
            1 + static_cast<std::size_t>(elements_bytes) / larger_block_bytes);
        for (auto& block : larger) block = std::make_unique<std::array<std::byte, larger_block_bytes>>();
        const auto asked_bytes = static_cast<double>(larger.size() * larger_block_bytes);
        const double larger_bytes = resident_above(base);
        result.set_all({{"elements_bytes", elements_bytes},
                        {"larger_bytes", larger_bytes},
                        {"sum_share", larger_bytes / (elements_bytes + asked_bytes)}});
    }
};

template <class C>
struct five_runner {
    static outcome run(const point& asked) { return run_with<C, std::uint64_t>(asked, measure); }

    static void measure(suites::slot_array<C, std::uint64_t>& work, std::uint64_t base, outcome& result) {
        const double allocate = seconds_of([&] { work.fill(); });
        const double elements_bytes = resident_above(base);
        const double from_last = seconds_of([&] { work.free_from_last(); });
        work.fill();
        const double from_first = seconds_of([&] { work.free_from_first(); });
        const double freed_bytes = resident_above(base);
        work.fill();
        const double odd = seconds_of([&] { work.free_odd(); });
        work.fill_odd();
        const double odd_and_back = seconds_of([&] {
            work.free_odd();
            work.fill_odd();
        });
        result.checksum = work.sum();
        work.free_from_first();
        result.set_all({{"allocate_seconds", allocate},
                        {"free_from_last_seconds", from_last},
                        {"free_from_first_seconds", from_first},
                        {"free_odd_seconds", odd},
                        {"free_and_allocate_odd_seconds", odd_and_back},
                        {"elements_bytes", elements_bytes},
                        {"freed_bytes", freed_bytes},
                        kept_share(elements_bytes, freed_bytes)});
    }
};

template <template <class> class Runner>
outcome run(const point& asked) {
    if (asked.is_for_littering) return Runner<noted_heap>::run(asked);
    return chosen<Runner, element_bytes>(asked.contender)(asked);
}

// The elements and the pointers to them.
std::uint64_t least_bytes(const point& asked) { return 2 * element_bytes * count_of(asked); }

}  // namespace

const workload doubles{.name = "doubles",
                       .unit = "element",
                       .parameters = doubles_parameters,
                       .metrics = doubles_metrics,
                       .takes = is_allocator,
                       .run = run<doubles_runner>,
                       .least_bytes = least_bytes};
const workload larger_blocks{.name = "larger_blocks",
                             .unit = "element",
                             .parameters = five_parameters,
                             .metrics = larger_metrics,
                             .takes = is_allocator,
                             .run = run<larger_runner>,
                             .least_bytes = least_bytes};
const workload five_operations{.name = "five_operations",
                               .unit = "element",
                               .parameters = five_parameters,
                               .metrics = five_metrics,
                               .takes = is_allocator,
                               .run = run<five_runner>,
                               .least_bytes = least_bytes};

}  // namespace millpond::suballocator_suite
