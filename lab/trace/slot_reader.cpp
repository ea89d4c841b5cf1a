// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/slot_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "millpond/os/pages.hpp"

namespace millpond::trace {

namespace {

constexpr std::uint32_t slot_bytes_min = 1024, slot_bytes_max = 1u << 20;

// Returns a descriptor of a regular file, or −1. Opening a FIFO would wait for a writer.
int open_regular(const std::string& path, int flags) noexcept {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (descriptor < 0 || (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))) return descriptor;
    ::close(descriptor);
    errno = EINVAL;
    return -1;
}

}  // namespace

slot_reader::slot_reader(const std::string& path) : path_(path) {
    descriptor_ = open_regular(path, O_RDWR);
    writable_ = descriptor_ >= 0;
    if (!writable_) descriptor_ = open_regular(path, O_RDONLY);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + path);
    struct stat status{};
    const bool known = ::fstat(descriptor_, &status) == 0;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    const bool whole = known && read_at(descriptor_, 0, &header_, sizeof header_) &&
                       header_.magic == static_cast<std::uint32_t>(mpt_slot_file_magic);
    if (!whole || header_.version != mpt_slot_file_version || header_.slot_bytes < slot_bytes_min ||
        header_.slot_bytes > slot_bytes_max) {
        ::close(descriptor_);
        throw trace_error(whole ? path + " was written by another version of millpond; finish it with that one"
                                : path + " is not the file of a recording in progress");
    }
    // A process comes before its other slots, except for slots that were taken ahead; so there are two passes.
    const std::uint64_t slots =
        std::min(header_.slots, static_cast<std::uint64_t>(status.st_size) / header_.slot_bytes);
    std::map<std::uint64_t, std::vector<std::uint64_t>> by_process;
    for (std::uint64_t n = 1; n < slots; ++n) {
        mpt_slot slot;
        if (!read(n * header_.slot_bytes, &slot, sizeof slot)) break;
        if (slot.magic == static_cast<std::uint32_t>(mpt_slot_magic)) by_process[slot.process].push_back(n);
    }
    for (auto& [number, own] : by_process) {
        slot_process process{number, {}, std::move(own)};
        const bool first = number != 0 && std::binary_search(process.slots.begin(), process.slots.end(), number);
        if (first && read(number * header_.slot_bytes + mpt_slot_head_bytes, &process.facts, sizeof process.facts))
            processes_.push_back(std::move(process));
    }
    std::stable_sort(processes_.begin(), processes_.end(), [](const slot_process& a, const slot_process& b) {
        return a.facts.start_ticks < b.facts.start_ticks;
    });
}

slot_reader::~slot_reader() { ::close(descriptor_); }

bool slot_reader::is_slot_file(const std::string& path) noexcept {
    const int descriptor = open_regular(path, O_RDONLY);
    if (descriptor < 0) return false;
    std::uint32_t magic = 0;
    const bool read = read_at(descriptor, 0, &magic, sizeof magic);
    ::close(descriptor);
    return read && magic == static_cast<std::uint32_t>(mpt_slot_file_magic);
}

bool slot_reader::read(std::uint64_t offset, void* to, std::size_t bytes) const {
    return read_at(descriptor_, offset, to, bytes);
}

std::vector<slot_block> slot_reader::blocks(const slot_process& process) const {
    std::vector<slot_block> others, events;
    const mpt_slot carried = carried_head(process);
    const std::uint64_t first_carried = process.facts.carried;
    for (const std::uint64_t n : process.slots) {
        mpt_slot slot;
        const std::uint64_t begin = n * header_.slot_bytes;
        if (!read(begin, &slot, sizeof slot)) continue;
        const bool is_carried = n >= first_carried && n - first_carried < carried.cut_slots;
        if (slot.cut_tick != 0 && !is_carried) continue;  // of an earlier cut, or of one that was interrupted
        std::vector<slot_block> here;
        std::uint64_t at = slot.first_block;
        while (at + mpt_header_bytes <= header_.slot_bytes) {
            slot_block block{begin + at, {}, false, false, false, 0, 0};
            if (!read(block.offset, &block.header, sizeof block.header)) break;
            const mpt_block_header& h = block.header;
            if (h.magic != static_cast<std::uint32_t>(mpt_magic)) break;
            block.room_bytes = static_cast<std::uint32_t>(header_.slot_bytes - at - mpt_header_bytes);
            block.sealed = h.checksum != 0 && h.stored_bytes <= block.room_bytes;
            if (h.stored_bytes != 0) here.push_back(block);
            if (!block.sealed) break;
            at += mpt_header_bytes + std::uint64_t{h.stored_bytes};
        }
        if (here.empty()) continue;
        const bool is_closed = slot.closed_tick != 0 && std::all_of(here.begin(), here.end(), [](const slot_block& b) {
                                   return b.sealed && b.header.kind == mpt_events;
                               });
        if (is_closed && !is_carried && slot.closed_tick < carried.cut_tick) continue;  // dropped by the last cut
        if (is_closed)
            for (slot_block& block : here) block.closed_tick = slot.closed_tick;
        here.back().last = true;
        here.back().alone = here.size() == 1 && n != process.number;
        for (const slot_block& block : here) (block.header.kind == mpt_events ? events : others).push_back(block);
    }
    std::stable_sort(events.begin(), events.end(), [](const slot_block& a, const slot_block& b) {
        return std::tie(a.header.first, a.header.thread, a.header.sequence) <
               std::tie(b.header.first, b.header.thread, b.header.sequence);
    });
    std::stable_sort(others.begin(), others.end(), [](const slot_block& a, const slot_block& b) {
        return std::tie(a.header.kind, a.header.sequence) < std::tie(b.header.kind, b.header.sequence);
    });
    others.insert(others.end(), events.begin(), events.end());
    return others;
}

mpt_slot slot_reader::carried_head(const slot_process& process) const {
    mpt_slot head{};
    const std::uint64_t first = process.facts.carried;
    const bool known = first != 0 && std::binary_search(process.slots.begin(), process.slots.end(), first) &&
                       read(first * header_.slot_bytes, &head, sizeof head);
    return known && head.cut_tick != 0 ? head : mpt_slot{};
}

std::uint64_t slot_reader::cut_tick(const slot_process& process) const { return carried_head(process).cut_tick; }

std::uint64_t slot_reader::claim(std::uint64_t count) const noexcept {
    if (!writable_) return 0;
    void* const page = ::mmap(nullptr, os::pages::size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (page == MAP_FAILED) return 0;
    auto* const shared = static_cast<mpt_slot_file*>(page);
    const std::uint64_t first = __atomic_fetch_add(&shared->slots, count, __ATOMIC_RELAXED);
    const bool fits = first + count <= shared->slots_max;
    ::munmap(page, os::pages::size());
    return fits ? first : 0;
}

bool slot_reader::commit_cut(slot_process& process, std::uint64_t first) const noexcept {
    const std::uint64_t at =
        process.number * header_.slot_bytes + mpt_slot_head_bytes + offsetof(mpt_slot_process, carried);
    if (!write(at, &first, sizeof first)) return false;
    process.facts.carried = first;
    return true;
}

void slot_reader::punch(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    const std::uint64_t page_bytes = os::pages::size();
    const std::uint64_t first = (offset + page_bytes - 1) / page_bytes * page_bytes;
    const std::uint64_t past = (offset + bytes) / page_bytes * page_bytes;
    if (writable_ && past > first)
        (void)::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                          static_cast<off_t>(past - first));
}

bool slot_reader::note_unfinished(const slot_process& process, const std::string& name_end) const noexcept {
    char noted[sizeof process.facts.unfinished] = {};
    if (!writable_ || name_end.size() > sizeof noted) return false;
    std::copy(name_end.begin(), name_end.end(), noted);
    const std::uint64_t at =
        process.number * header_.slot_bytes + mpt_slot_head_bytes + offsetof(mpt_slot_process, unfinished);
    return write(at, noted, sizeof noted) && ::fdatasync(descriptor_) == 0;
}

bool slot_reader::write(std::uint64_t offset, const void* from, std::size_t bytes) const noexcept {
    return writable_ && ::pwrite(descriptor_, from, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

void slot_reader::note_stretch(std::uint32_t number) {
    header_.stretches = number;
    (void)write(offsetof(mpt_slot_file, stretches), &number, sizeof number);
}

bool slot_reader::put_to_sleep() {
    if (header_.turn == 0 || (header_.turn & mpt_asleep) != 0) return false;
    ++header_.turn;
    (void)write(offsetof(mpt_slot_file, turn), &header_.turn, sizeof header_.turn);
    return true;
}

void slot_reader::mark_finished(const slot_process& process, bool may_write) {
    if (!writable_) return;
    const std::uint32_t finished = 1;
    const std::uint64_t at =
        process.number * header_.slot_bytes + mpt_slot_head_bytes + offsetof(mpt_slot_process, finished);
    if (!write(at, &finished, sizeof finished)) return;
    std::set<std::uint64_t> kept = {process.number};  // the first slot says that the process is finished
    if (may_write)
        for (const slot_block& block : blocks(process))
            if (!block.sealed) kept.insert(block.offset / header_.slot_bytes);
    // In memory that was mapped ahead, a process may make no call for room, so an emptied slot keeps it.
    const std::vector<char> nothing(process.facts.mapped_ahead != 0 ? header_.slot_bytes : 0);
    // Releases adjacent slots at once, because a disk may take milliseconds for each call.
    std::uint64_t first = 0, past = 0;
    for (const std::uint64_t n : process.slots) {
        if (kept.contains(n)) continue;
        if (!nothing.empty()) {
            (void)write(n * header_.slot_bytes, nothing.data(), nothing.size());
            continue;
        }
        if (n != past) {
            punch(first * header_.slot_bytes, (past - first) * header_.slot_bytes);
            first = n;
        }
        past = n + 1;
    }
    punch(first * header_.slot_bytes, (past - first) * header_.slot_bytes);
}

}  // namespace millpond::trace
