// SPDX-License-Identifier: BSL-1.0
#include "lab/record/scan_server.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "lab/program/program.hpp"
#include "lab/record/heap_scan.hpp"
#include "lab/record/outside_stream.hpp"
#include "lab/record/running.hpp"
#include "lab/record/system.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/live_objects.hpp"
#include "lab/trace/reader.hpp"

namespace millpond::record {
namespace {

constexpr std::chrono::seconds time_max{50};  // less than a process waits
constexpr std::size_t live_max = std::size_t{1} << 26;

void wake(std::uint32_t& word) { system_call(SYS_futex, &word, FUTEX_WAKE, INT32_MAX); }

bool change(std::uint32_t& state, std::uint32_t from, std::uint32_t to) {
    return __atomic_compare_exchange_n(&state, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// A process's first slot, which the process has mapped, too.
class shared_slot {
  public:
    shared_slot(const std::string& partial, std::uint64_t number) {
        const int file = open(partial.c_str(), O_RDWR | O_CLOEXEC);
        void* const slot = mmap(nullptr, mpt_slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                                static_cast<off_t>(number * std::uint64_t{mpt_slot_bytes}));
        if (slot != MAP_FAILED) begin_ = static_cast<std::uint8_t*>(slot);
        if (file >= 0) close(file);
    }
    ~shared_slot() {
        if (begin_ != nullptr) munmap(begin_, mpt_slot_bytes);
    }
    shared_slot(const shared_slot&) = delete;
    shared_slot& operator=(const shared_slot&) = delete;

    // Null if it could not be mapped.
    [[nodiscard]] mpt_slot_process* process() const {
        return begin_ == nullptr ? nullptr : reinterpret_cast<mpt_slot_process*>(begin_ + mpt_slot_head_bytes);
    }

  private:
    std::uint8_t* begin_ = nullptr;
};

class temporary_file {
  public:
    explicit temporary_file(std::string path) : path_(std::move(path)) {}
    ~temporary_file() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

recorded_heap read_heap(const std::string& trace) {
    trace::reader reader(trace);
    trace::live_objects<std::uint64_t> live;
    std::unordered_set<std::uint64_t> pages;
    const auto ended = [](std::uint64_t, std::uint64_t, trace::moment, trace::ending) {};
    reader.for_each_batch([&](const trace::event* batch, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const trace::event& e = batch[i];
            if (e.op == trace::operation::note) continue;
            if (e.op == trace::operation::free || e.op == trace::operation::realloc_free) {
                live.end(e.address, {e.time_ticks, e.thread}, ended);
                continue;
            }
            pages.insert(e.address >> recorded_heap::page_bytes_log2);
            live.begin(e.address, e.bytes, {e.time_ticks, e.thread}, ended);
        }
    });
    live.settle(ended);
    if (live.size() > live_max)
        throw program::failure(program::environment, "the program has too many live blocks for a scan");
    recorded_heap heap;
    heap.live.reserve(live.size());
    live.for_each([&](std::uint64_t address, std::uint64_t bytes) { heap.live.push_back({address, bytes}); });
    heap.pages.assign(pages.begin(), pages.end());
    return heap;
}

}  // namespace

scan_server::scan_server(std::string partial, mpt_slot_file& shared) : partial_(std::move(partial)), shared_(shared) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve_until(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

scan_server::~scan_server() {
    thread_.request_stop();
    __atomic_add_fetch(&shared_.scan_requests, 1, __ATOMIC_SEQ_CST);
    wake(shared_.scan_requests);
}

void scan_server::serve_until(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const std::uint32_t seen = __atomic_load_n(&shared_.scan_requests, __ATOMIC_SEQ_CST);
        try {
            if (seen != 0) serve_waiting();
        } catch (const std::exception& why) {
            program::say(std::string("no scan for lost blocks: ") + why.what());
        }
        if (stop.stop_requested()) return;
        system_call(SYS_futex, &shared_.scan_requests, FUTEX_WAIT, seen, nullptr);
    }
}

void scan_server::serve_waiting() {
    const trace::slot_reader from(partial_);
    for (const trace::slot_process& p : from.processes()) {
        if (p.facts.scan != mpt_scan_wanted || p.facts.finished != 0) continue;
        const shared_slot slot(partial_, p.number);
        if (slot.process() == nullptr || !change(slot.process()->scan, mpt_scan_wanted, mpt_scan_begun)) continue;
        wake(slot.process()->scan);
        try {
            serve(from, p, *slot.process());
        } catch (const std::exception& why) {
            program::say("process " + std::to_string(p.facts.pid) + ": no scan for lost blocks: " + why.what());
        }
        (void)change(slot.process()->scan, mpt_scan_begun, mpt_scan_ended);
        wake(slot.process()->scan);
    }
}

void scan_server::serve(const trace::slot_reader& from, const trace::slot_process& process, mpt_slot_process& facts) {
    const heap_scan::clock::time_point end = heap_scan::clock::now() + time_max;
    const auto running = find_running(partial_, from.device(), from.inode());
    const auto found =
        std::find_if(running.begin(), running.end(), [&](const running_process& p) { return p.is(process.facts); });
    if (found == running.end()) throw program::failure(program::environment, "the process is not found in /proc");
    const std::uint64_t now = ticks();
    const temporary_file trace(partial_ + ".scan");
    (void)trace::finish(from, process, trace.path(), {}, {}, true);
    recorded_heap heap = read_heap(trace.path());
    heap.own_memory = facts.own_memory;
    const std::size_t live = heap.live.size();
    const std::vector<std::uint64_t> lost = heap_scan(static_cast<pid_t>(found->pid), std::move(heap), end).run();
    if (__atomic_load_n(&facts.scan, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(mpt_scan_begun)) return;
    outside_stream notes(partial_, shared_, from, process, now);
    notes.note(mpt_note_scanned, live);
    for (const std::uint64_t address : lost) notes.note(mpt_note_unreached, address);
    notes.flush();
}

}  // namespace millpond::record
