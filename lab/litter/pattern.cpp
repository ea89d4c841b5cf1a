// SPDX-License-Identifier: BSL-1.0
#include "lab/litter/pattern.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <system_error>
#include <utility>

#include "lab/litter/pattern_layout.hpp"
#include "lab/measure/heap_litter.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::litter {
namespace {

using measure::heap_litter;

constexpr double least_bytes = 16;
constexpr double most_bytes = 1024;

std::uint64_t total(const std::vector<std::uint32_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

template <class Value>
void append(int file, const Value* from, std::size_t count) {
    if (!program::write_all(file, {reinterpret_cast<const char*>(from), count * sizeof(Value)}))
        throw std::system_error(errno, std::generic_category(), "cannot write the littering pattern");
}

}  // namespace

std::string pattern::note() const {
    const std::uint64_t all = total(sizes);
    std::uint64_t freed = 0;
    for (const std::uint32_t each : free_order) freed += sizes[each];
    return "millpond: littered the heap: " + std::to_string(sizes.size()) + " blocks of " + std::to_string(all) +
           " bytes, then freed " + std::to_string(free_order.size()) + " of them; " +
           std::to_string(sizes.size() - free_order.size()) + " blocks of " + std::to_string(all - freed) +
           " bytes stay\n";
}

std::vector<std::uint32_t> drawn_sizes(std::uint64_t blocks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> sizes(blocks);
    for (std::uint32_t& each : sizes) {
        const double share = static_cast<double>(random() >> 11) * 0x1p-53;
        each = static_cast<std::uint32_t>(std::llround(least_bytes * std::pow(most_bytes / least_bytes, share)));
    }
    return sizes;
}

std::vector<std::uint32_t> traced_sizes(const std::string& trace) {
    std::vector<std::uint32_t> sizes;
    std::uint64_t bytes = 0;
    trace::reader from(trace);
    from.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& each = batch[i];
            if (each.op != trace::operation::allocate && each.op != trace::operation::realloc_allocate) continue;
            if (sizes.size() == heap_litter::most_blocks || each.bytes > heap_litter::most_bytes - bytes) continue;
            bytes += each.bytes;
            sizes.push_back(static_cast<std::uint32_t>(each.bytes));
        }
    });
    if (!from.damages().empty()) throw trace::trace_error(trace + ": " + from.damages().front().what);
    if (sizes.empty()) throw trace::trace_error(trace + " has no allocations");
    return sizes;
}

pattern draw(std::vector<std::uint32_t> sizes, double fraction, std::uint64_t seed) {
    pattern result{std::move(sizes), {}};
    std::vector<std::uint32_t> left(result.sizes.size());
    std::iota(left.begin(), left.end(), 0U);
    const auto freed = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(left.size())));
    std::mt19937_64 random(seed);
    result.free_order.reserve(freed);
    while (result.free_order.size() < freed) {
        std::swap(left[random() % left.size()], left.back());
        result.free_order.push_back(left.back());
        left.pop_back();
    }
    return result;
}

int write_pattern(const pattern& of) {
    const int file = ::memfd_create("millpond-litter", 0);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot make the littering pattern");
    pattern_head head{of.sizes.size(), of.free_order.size(), {}};
    std::snprintf(head.note, sizeof head.note, "%s", of.note().c_str());
    append(file, &head, 1);
    append(file, of.sizes.data(), of.sizes.size());
    append(file, of.free_order.data(), of.free_order.size());
    return file;
}

}  // namespace millpond::litter
