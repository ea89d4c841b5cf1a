// SPDX-License-Identifier: BSL-1.0
#include "lab/record/slot_keeper.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "lab/program/program.hpp"
#include "lab/record/stretches.hpp"
#include "lab/trace/slot_reader.hpp"
#include "lab/trace/trace_set.hpp"
#include "millpond/os/pages.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t usual_check_interval = 4096, thorough_check_interval = 64;
static_assert(sizeof(mpt_slot_file) <= preload::machine::page_bytes_least, "recorders map one page of slot 0");

std::uint64_t random_number() {
    std::uint64_t number = 0;
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
    }
    return number;
}

// Returns the maximal number of slots in the file: up to 1 TiB, or less by our limit on file sizes.
std::uint64_t find_slots_max() {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    constexpr std::uint64_t slots_max = std::uint64_t{1} << 24;
    const std::size_t page_bytes = os::pages::size();
    return limit.rlim_cur < page_bytes ? 0 : std::min(slots_max, (limit.rlim_cur - page_bytes) / mpt_slot_bytes);
}

// Makes the file long enough for this many slots; it stays sparse. False if that is impossible.
bool lengthen(int file, std::uint64_t slots) {
    const auto bytes = static_cast<off_t>(slots * mpt_slot_bytes + os::pages::size());
    return fallocate(file, 0, bytes - 1, 1) == 0;
}

[[noreturn]] void cannot_write(const std::string& file, const std::string& why) {
    throw program::failure(program::environment,
                           "cannot write the trace to " + file + ": " + why + "; choose another place with -o");
}

[[noreturn]] void refuse_partial(const std::string& partial, const std::string& file) {
    if (!trace::slot_reader::is_slot_file(partial))
        throw program::failure(program::environment,
                               partial + " exists and is not a recording; move it, or choose another name with -o");
    throw program::failure(program::environment,
                           partial +
                               " exists: another recording writes there or was interrupted; complete it with "
                               "'millpond trace record --finish " +
                               file + "', or remove it");
}

// Takes a spare slot if the disk has room for a few more. A finishing pass on a full disk can write a block only after
// it has released one, and releases one only after it has written a block.
void take_spare_slot(int file) {
    struct statvfs disk;
    if (fstatvfs(file, &disk) != 0 || disk.f_bavail * disk.f_frsize < std::uint64_t{3} * mpt_slot_bytes) return;
    (void)fallocate(file, 0, off_t{mpt_spare_slot} * mpt_slot_bytes, mpt_slot_bytes);
}

// Makes FILE.partial with its slot 0, and opens it.
int prepare(const record_options& options, const std::string& partial) {
    if (fs::is_directory(options.file))
        throw program::failure(program::environment, options.file + " is a directory; name a file for the trace");
    const int file = open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) refuse_partial(partial, options.file);
    if (file < 0) cannot_write(options.file, strerror(errno));
    (void)flock(file, LOCK_SH);  // while the recorder lives: see finish
    mpt_slot_file shared{};
    shared.magic = mpt_slot_file_magic;
    shared.version = mpt_slot_file_version;
    shared.slot_bytes = mpt_slot_bytes;
    shared.check_interval = options.check_contexts ? thorough_check_interval : usual_check_interval;
    shared.recording = random_number();
    shared.replaces = trace::read_origin(options.is_idle ? stretch_file(options.file, 1) : options.file).recording;
    shared.turn = options.is_idle || options.attached_pid != 0 ? mpt_asleep : 0;
    shared.attached = options.attached_pid != 0 ? 1 : 0;
    shared.slots = 1;
    shared.slots_max = find_slots_max();
    shared.slots_ready = std::min<std::uint64_t>(mpt_slots_ahead, shared.slots_max);
    shared.bytes_max = options.bytes_max;
    shared.ahead_bytes = options.ahead_bytes;
    shared.mode = options.mode;
    shared.scans = options.scans ? 1 : 0;
    shared.sample_bytes = options.sample_bytes;
    shared.sample_seed = options.sample_seed;
    constexpr double ns_per_minute = 60e9;
    shared.ring_ns = static_cast<std::uint64_t>(options.ring_minutes * ns_per_minute);
    bool written = shared.slots_max > 0;
    errno = EFBIG;
    if (written && !lengthen(file, shared.slots_ready) && errno == EOPNOTSUPP) {
        // If the file system allows it, the file gets its maximal length at once.
        shared.slots_ready = shared.slots_max;
        while (shared.slots_ready > 1 &&
               ftruncate(file, static_cast<off_t>(shared.slots_ready * mpt_slot_bytes + os::pages::size())) != 0)
            shared.slots_ready /= 2;
        shared.slots_max = shared.slots_ready;
    }
    // The whole page, so that no later store into it can meet a full disk.
    std::string page(os::pages::size(), '\0');
    memcpy(page.data(), &shared, sizeof shared);
    written = written && pwrite(file, page.data(), page.size(), 0) == static_cast<ssize_t>(page.size());
    if (written) {
        if (shared.slots_ready > mpt_spare_slot) take_spare_slot(file);
        return file;
    }
    const std::string why = strerror(errno);
    close(file);
    unlink(partial.c_str());
    cannot_write(options.file, why);
}

}  // namespace

std::string partial_file(const std::string& file) { return fs::absolute(file).string() + ".partial"; }

slot_keeper::slot_keeper(const record_options& options)
    : partial_(partial_file(options.file)), refusals_(partial_), file_(prepare(options, partial_)) {
    void* const page = mmap(nullptr, os::pages::size(), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (page != MAP_FAILED) shared_ = static_cast<mpt_slot_file*>(page);
}

slot_keeper::~slot_keeper() {
    thread_ = {};
    if (shared_ != nullptr) refusals_.note(*shared_);
    if (shared_ != nullptr) munmap(shared_, os::pages::size());
    close(file_);
}

void slot_keeper::serve() {
    if (shared_ == nullptr) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
    } catch (const std::system_error& no_thread) {  // then processes that can open the file lengthen it
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void slot_keeper::remove() const { unlink(partial_.c_str()); }

void slot_keeper::keep(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    constexpr auto interval = std::chrono::milliseconds(50);
    while (!stopped.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
        refusals_.note(*shared_);
        std::uint64_t ready = __atomic_load_n(&shared_->slots_ready, __ATOMIC_RELAXED);
        const std::uint64_t wanted =
            std::min(__atomic_load_n(&shared_->slots, __ATOMIC_RELAXED) + mpt_slots_ahead, shared_->slots_max);
        if (wanted < ready + mpt_slots_ahead / 4 || !lengthen(file_, wanted)) continue;
        while (ready < wanted && !__atomic_compare_exchange_n(&shared_->slots_ready, &ready, wanted, false,
                                                              __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
    }
}

}  // namespace millpond::record
