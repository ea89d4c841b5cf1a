// SPDX-License-Identifier: BSL-1.0
#include "lab/record/supervisor.hpp"

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
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "lab/measure/preload_check.hpp"
#include "lab/measure/signal_relay.hpp"
#include "lab/measure/start.hpp"
#include "lab/probes/wanted_scopes.hpp"
#include "lab/program/program.hpp"
#include "lab/record/control.hpp"
#include "lab/record/ring_keeper.hpp"
#include "lab/record/scan_server.hpp"
#include "lab/record/scope_list.hpp"
#include "lab/record/stretches.hpp"
#include "lab/record/variable.hpp"
#include "lab/trace/slot_reader.hpp"
#include "lab/trace/trace_set.hpp"
#include "millpond/os/pages.hpp"
#include "preload/machine.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t usual_check_interval = 4096, thorough_check_interval = 64;
static_assert(sizeof(mpt_slot_file) <= preload::machine::page_bytes_least, "recorders map one page of slot 0");

process_end wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? process_end{0, WTERMSIG(status)} : process_end{WEXITSTATUS(status), 0};
}

// The same, but stops the child after `seconds`, like a user: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL.
process_end wait_for(pid_t child, double seconds) {
    if (seconds <= 0) return wait_for(child);
    std::atomic<int> sent = 0;
    process_end end;
    {
        const auto stop = [&](const std::stop_token& ended) {
            std::mutex mutex;
            std::condition_variable_any changed;
            std::unique_lock lock(mutex);
            constexpr double patience = 5;
            for (const int number : {SIGINT, SIGTERM, SIGKILL}) {
                const auto span = std::chrono::duration<double>(number == SIGINT ? seconds : patience);
                if (changed.wait_for(lock, ended, span, [&] { return ended.stop_requested(); })) return;
                sent = number;
                kill(child, number);
            }
        };
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const std::jthread stopper(stop);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        // Ended, but not yet reaped, so its pid is not reused while the thread may signal it.
        siginfo_t info;
        while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
        }
    }
    end = wait_for(child);
    end.stopped_by = sent;
    return end;
}

std::string own_library(const char* name) {
    return (fs::read_symlink("/proc/self/exe").parent_path() / "../lib/millpond" / name).lexically_normal();
}

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

// Receives messages from processes that cannot open the file, and notes them in it.
class refusals {
  public:
    explicit refusals(const std::string& partial)
        : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        const refusal_address own(partial.c_str());
        const int on = 1;
        if (socket_ < 0) return;
        setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
        (void)!bind(socket_, reinterpret_cast<const sockaddr*>(&own.name), own.length);
    }
    ~refusals() {
        if (socket_ >= 0) close(socket_);
    }
    refusals(const refusals&) = delete;
    refusals& operator=(const refusals&) = delete;

    void note(mpt_slot_file& shared) const {
        refusal_message message{};
        alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))];
        while (true) {
            iovec part{&message, sizeof message};
            msghdr header{};
            header.msg_iov = &part;
            header.msg_iovlen = 1;
            header.msg_control = room;
            header.msg_controllen = sizeof room;
            if (recvmsg(socket_, &header, 0) != static_cast<ssize_t>(sizeof message)) return;
            const cmsghdr* const said = CMSG_FIRSTHDR(&header);
            if (message.magic != refusal_message::expected_magic || said == nullptr ||
                said->cmsg_type != SCM_CREDENTIALS)
                continue;
            ucred sender{};
            memcpy(&sender, CMSG_DATA(said), sizeof sender);
            const std::uint64_t at = __atomic_fetch_add(&shared.refusals, 1, __ATOMIC_RELAXED);
            if (at < mpt_refusals_max) shared.refused[at] = {static_cast<std::uint64_t>(sender.pid), message.error, 0};
        }
    }

  private:
    int socket_;
};

// Keeps the file longer than its used part, for processes that cannot open it any more.
class keeper {
  public:
    // Owns the descriptor.
    keeper(const std::string& partial, int file) : refusals_(partial), file_(file) {
        void* const page = mmap(nullptr, os::pages::size(), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (page == MAP_FAILED) return;
        shared_ = static_cast<mpt_slot_file*>(page);
        // Signals go to the thread that relays them.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            thread_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
        } catch (const std::system_error& no_thread) {  // then processes that can open the file lengthen it
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    ~keeper() {
        thread_ = {};
        if (shared_ != nullptr) refusals_.note(*shared_);
        if (shared_ != nullptr) munmap(shared_, os::pages::size());
        close(file_);
    }
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;

    void note_root(pid_t root) const {
        if (shared_ != nullptr) shared_->root_pid = root;
    }
    // Null if the file could not be mapped.
    mpt_slot_file* shared() const { return shared_; }

  private:
    void keep(const std::stop_token& stop) {
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

    refusals refusals_;
    int file_;
    mpt_slot_file* shared_ = nullptr;
    std::jthread thread_;
};

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
    shared.turn = options.is_idle ? mpt_asleep : 0;
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

process_end run(const record_options& options) {
    const measure::preloadable root = measure::check_preloadable(options.command);
    const std::string observed = find_scopes(options, root.image);
    if (options.samples_owners && !preload::machine::keeps_registers)
        throw program::failure(program::environment,
                               "the caller's registers are sampled on x86-64 only: record without --owners");
    std::optional<control_server> control;
    try {
        control.emplace(options.file);
    } catch (const program::failure&) {  // another recording needs none: it only cannot be marked from outside
        if (options.is_idle) throw;
    }
    const std::string partial = partial_file(options.file);
    const int file = prepare(options, partial);
    measure::start_options start_options;
    start_options.dies_with_caller = options.dies_with_recorder;
    std::string libraries = own_library(options.sample_bytes != 0 ? "libmillpond-sample.so" : "libmillpond-record.so");
    if (!observed.empty()) libraries += ":" + own_library("libmillpond-probes.so");
    start_options.environment = {{"LD_PRELOAD", measure::preload_value(libraries)}, {variable, partial}};
    if (options.samples_owners) start_options.environment.emplace_back(owners_variable, "1");
    if (options.places_frees) start_options.environment.emplace_back(frees_variable, "1");
    if (!observed.empty()) start_options.environment.emplace_back(probes::scopes_variable, observed);
    const keeper kept(partial, file);
    std::optional<scan_server> scans;
    if (options.scans && kept.shared() != nullptr) scans.emplace(partial, *kept.shared());
    const measure::signal_relay relay;
    pid_t child = 0;
    try {
        child = measure::start(root.path, options.command, start_options);
    } catch (...) {
        unlink(partial.c_str());  // made above, by us
        throw;
    }
    kept.note_root(child);
    measure::signal_relay::started(child);
    if (control && kept.shared() != nullptr) {
        control->serve(child, *kept.shared());
        if (options.is_idle)
            program::say("asleep: `millpond trace control " + std::to_string(child) + " start` begins a trace");
    }
    std::optional<ring_keeper> ring;
    if (options.ring_minutes > 0) ring.emplace(partial);
    process_end end = wait_for(child, options.seconds_max);
    ring.reset();
    scans.reset();
    control.reset();
    end.modules = root.modules;
    return end;
}

}  // namespace millpond::record
