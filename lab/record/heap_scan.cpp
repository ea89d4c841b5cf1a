// SPDX-License-Identifier: BSL-1.0
#include "lab/record/heap_scan.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "lab/program/program.hpp"

namespace millpond::record {
namespace {

constexpr std::size_t chunk_bytes = 256 << 10, page_bytes = std::size_t{1} << recorded_heap::page_bytes_log2;

// A line of /proc/PID/maps.
struct maps_line {
    std::uint64_t begin = 0, end = 0;
    bool is_private_data = false;
    std::string path;

    explicit maps_line(const std::string& line) {
        char rights[5] = {};
        int path_at = 0;
        const int fields =
            std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &begin, &end, rights, &path_at);
        is_private_data = fields == 3 && rights[0] == 'r' && rights[1] == 'w' && rights[3] == 'p';
        if (path_at > 0) path = line.substr(static_cast<std::size_t>(path_at));
    }
    [[nodiscard]] bool is_ours() const {
        return path.ends_with("/libmillpond-record.so") || path.ends_with("/libmillpond-probes.so");
    }
};

}  // namespace

heap_scan::heap_scan(pid_t process, recorded_heap heap, clock::time_point end)
    : process_(process), heap_(std::move(heap)), end_(end), buffer_(chunk_bytes / sizeof(std::uint64_t)) {
    std::sort(heap_.live.begin(), heap_.live.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::sort(heap_.pages.begin(), heap_.pages.end());
    reached_.resize(heap_.live.size());
}

std::vector<std::uint64_t> heap_scan::run() {
    for (const range& root : find_roots()) look_through(root);
    if (bytes_read_ == 0)
        throw program::failure(program::environment, "the program's memory cannot be read (process_vm_readv)");
    while (!next_.empty()) {
        const recorded_heap::block& block = heap_.live[next_.back()];
        next_.pop_back();
        look_through({block.begin, block.begin + block.bytes});
    }
    std::vector<std::uint64_t> lost;
    for (std::size_t i = 0; i < reached_.size(); ++i)
        if (reached_[i] == 0) lost.push_back(heap_.live[i].begin);
    return lost;
}

// A stack is a root from its stack pointer on: below lie the words of calls that have returned.
std::vector<heap_scan::range> heap_scan::find_roots() {
    const std::vector<std::uint64_t> stacks = stack_pointers();
    const std::vector<range> own = find_own_memory();
    std::vector<range> roots;
    std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
    std::uint64_t end_of_ours = 0;
    for (std::string line; std::getline(maps, line);) {
        const maps_line here(line);
        const bool is_our_zeroed_data = here.begin == end_of_ours && here.path.empty();
        if (here.is_ours()) end_of_ours = here.end;
        if (!here.is_private_data || here.is_ours() || is_our_zeroed_data) continue;
        const auto stack = std::lower_bound(stacks.begin(), stacks.end(), here.begin);
        if (stack != stacks.end() && *stack < here.end)
            roots.push_back({*stack, here.end});
        else if (!is_of_allocator({here.begin, here.end}))
            add_without(own, {here.begin, here.end}, roots);
    }
    return roots;
}

// Returns the pieces of memory in which the recorder keeps words of the program's stacks; ascending.
std::vector<heap_scan::range> heap_scan::find_own_memory() {
    std::vector<range> own;
    constexpr std::size_t pieces_max = 4096;
    for (std::uint64_t at = heap_.own_memory; at != 0 && own.size() < pieces_max;) {
        if (read(at, 2 * sizeof(std::uint64_t)) < 2 * sizeof(std::uint64_t)) break;
        own.push_back({at, at + buffer_[1]});
        at = buffer_[0];
    }
    std::sort(own.begin(), own.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
    return own;
}

// Adds the parts of `all` that lie in none of `left_out`, which is ascending.
void heap_scan::add_without(const std::vector<range>& left_out, range all, std::vector<range>& to) {
    for (const range& out : left_out) {
        if (out.end <= all.begin || out.begin >= all.end) continue;
        if (out.begin > all.begin) to.push_back({all.begin, out.begin});
        all.begin = out.end;
    }
    if (all.begin < all.end) to.push_back(all);
}

// Returns those of the threads that wait in a system call, ascending. Of another thread, the whole stack is a root.
std::vector<std::uint64_t> heap_scan::stack_pointers() const {
    std::vector<std::uint64_t> found;
    std::error_code gone;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/task", gone)) {
        std::ifstream file(thread.path() / "syscall");
        std::string line;
        std::getline(file, line);
        std::uint64_t pointer = 0;  // the last field but one: "nr arguments … stack pointer, program counter"
        const std::size_t last = line.rfind(' ');
        const std::size_t before = last == std::string::npos || last == 0 ? last : line.rfind(' ', last - 1);
        if (before == std::string::npos || std::sscanf(line.c_str() + before, " %" SCNx64, &pointer) != 1) continue;
        found.push_back(pointer / sizeof(std::uint64_t) * sizeof(std::uint64_t));
    }
    std::sort(found.begin(), found.end());
    return found;
}

bool heap_scan::is_of_allocator(range mapping) const {
    const auto page =
        std::lower_bound(heap_.pages.begin(), heap_.pages.end(), mapping.begin >> recorded_heap::page_bytes_log2);
    return page != heap_.pages.end() && *page << recorded_heap::page_bytes_log2 < mapping.end;
}

void heap_scan::look_through(range part) {
    constexpr std::uint64_t word = sizeof(std::uint64_t);
    std::uint64_t at = (part.begin + word - 1) / word * word;
    while (at + word <= part.end) {
        if (clock::now() > end_)
            throw program::failure(program::environment, "the scan for lost blocks took too long, so it was given up");
        const std::size_t wanted = std::min<std::uint64_t>(chunk_bytes, (part.end - at) / word * word);
        const std::size_t bytes = read(at, wanted) / word * word;
        look_at(buffer_.data(), bytes / word);
        at = bytes == wanted ? at + bytes : (at + bytes) / page_bytes * page_bytes + page_bytes;
    }
}

std::size_t heap_scan::read(std::uint64_t address, std::size_t bytes) {
    iovec to{buffer_.data(), bytes};
    // One part for each page: a transfer ends before the first part that cannot be read.
    constexpr std::size_t parts_max = chunk_bytes / page_bytes + 1;
    iovec from[parts_max];
    std::size_t parts = 0;
    for (std::size_t done = 0; done < bytes; ++parts) {
        const std::size_t part = std::min(bytes - done, page_bytes - (address + done) % page_bytes);
        from[parts] = {reinterpret_cast<void*>(address + done), part};
        done += part;
    }
    const ssize_t done = process_vm_readv(process_, &to, 1, from, parts, 0);
    if (done <= 0) return 0;
    bytes_read_ += static_cast<std::uint64_t>(done);
    return static_cast<std::size_t>(done);
}

void heap_scan::look_at(const std::uint64_t* words, std::size_t count) {
    if (heap_.live.empty()) return;
    const std::uint64_t first = heap_.live.front().begin;
    const std::uint64_t span = heap_.live.back().begin + std::max<std::uint64_t>(heap_.live.back().bytes, 1) - first;
    for (std::size_t i = 0; i < count; ++i) {
        if (words[i] - first >= span) continue;
        const auto behind = std::upper_bound(heap_.live.begin(), heap_.live.end(), words[i],
                                             [](std::uint64_t address, const auto& b) { return address < b.begin; });
        const auto block = static_cast<std::size_t>(behind - heap_.live.begin()) - 1;
        const recorded_heap::block& found = heap_.live[block];
        if (reached_[block] != 0 || words[i] - found.begin >= std::max<std::uint64_t>(found.bytes, 1)) continue;
        reached_[block] = 1;
        next_.push_back(static_cast<std::uint32_t>(block));
    }
}

}  // namespace millpond::record
