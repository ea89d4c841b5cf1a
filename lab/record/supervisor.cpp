// SPDX-License-Identifier: BSL-1.0
#include "lab/record/supervisor.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>

#include "lab/measure/preload_check.hpp"
#include "lab/measure/start.hpp"
#include "lab/record/variable.hpp"
#include "lab/trace/slot_reader.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;
using measure::start_error;

constexpr std::uint32_t usual_check_interval = 4096, thorough_check_interval = 64;
constexpr std::size_t page_bytes = 4096;
static_assert(sizeof(mpt_slot_file) <= page_bytes, "recorders map one page of slot 0");

// What is sent to us goes on to the program; what the terminal sends has reached it already. In force before the
// program is started, so that nothing sent meanwhile ends us alone; handlers do not survive its exec.
class signal_relay {
  public:
    signal_relay() {
        struct sigaction relay{};
        relay.sa_handler = [](int s) {
            if (program_ != 0)
                kill(program_, s);
            else
                early_ = s;
        };
        relay.sa_flags = SA_RESTART;
        for (const int s : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
            struct sigaction before{};
            sigaction(s, nullptr, &before);
            if (before.sa_handler != SIG_IGN) sigaction(s, &relay, nullptr);  // under nohup, the program ignores it too
        }
    }
    static void started(pid_t program) {
        program_ = program;
        if (early_ != 0) kill(program, early_);
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
    }

  private:
    static inline volatile pid_t program_ = 0;
    static inline volatile sig_atomic_t early_ = 0;
};

ending wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? ending{0, WTERMSIG(status)} : ending{WEXITSTATUS(status), 0};
}

std::string own_library() {
    return (fs::read_symlink("/proc/self/exe").parent_path() / "../lib/millpond/libmillpond-record.so")
        .lexically_normal();
}

std::uint64_t random_number() {
    std::uint64_t number = 0;
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
    }
    return number;
}

// As long as the file system and our limit on file sizes let it be; it is sparse, so this costs nothing.
std::uint64_t lengthen(int file) {
    constexpr std::uint64_t slots_max = std::uint64_t{1} << 24;  // 1 TiB
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    for (std::uint64_t slots = slots_max; slots > 1; slots /= 2) {
        // Recorders keep a page mapped behind the last slot that they use.
        const std::uint64_t bytes = slots * mpt_slot_bytes + page_bytes;
        if (bytes <= limit.rlim_cur && ftruncate(file, static_cast<off_t>(bytes)) == 0) return slots;
    }
    return 0;
}

start_error cannot_write(const std::string& file, const std::string& why) {
    return {start_error::environment_lacks,
            "cannot write the trace to " + file + ": " + why + "; choose another place with -o"};
}

std::optional<start_error> refuse_partial(const std::string& partial, const std::string& file) {
    if (!trace::slot_reader::is_slot_file(partial))
        return start_error{start_error::environment_lacks,
                           partial + " exists and is no recording of ours; move it, or choose another name with -o"};
    return start_error{start_error::environment_lacks,
                       partial +
                           " exists: another recording writes there or was interrupted; complete it with "
                           "'millpond-record --finish " +
                           file + "', or remove it"};
}

// Makes FILE.partial with its slot 0.
std::optional<start_error> prepare(const record_options& options, const std::string& partial) {
    if (fs::is_directory(options.file))
        return start_error{start_error::environment_lacks,
                           options.file + " is a directory; name a file for the trace"};
    const int file = open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) return refuse_partial(partial, options.file);
    if (file < 0) return cannot_write(options.file, strerror(errno));
    mpt_slot_file shared{};
    shared.magic = mpt_slot_file_magic;
    shared.version = mpt_slot_file_version;
    shared.slot_bytes = mpt_slot_bytes;
    shared.check_interval = options.check_contexts ? thorough_check_interval : usual_check_interval;
    shared.recording = random_number();
    shared.replaces = trace::read_origin(options.file).recording;
    shared.slots = 1;
    shared.slots_max = lengthen(file);
    shared.bytes_max = options.bytes_max;
    shared.ahead_bytes = options.ahead_bytes;
    shared.mode = options.mode;
    // The whole page, so that no later store into it can meet a full disk.
    std::string page(page_bytes, '\0');
    memcpy(page.data(), &shared, sizeof shared);
    errno = EFBIG;
    const bool written = shared.slots_max > 0 &&
                         pwrite(file, page.data(), page.size(), 0) == static_cast<ssize_t>(page.size());
    const std::string why = strerror(errno);
    close(file);
    if (written) return std::nullopt;
    unlink(partial.c_str());
    return cannot_write(options.file, why);
}

void note_root(const std::string& partial, pid_t root) {
    const int file = open(partial.c_str(), O_WRONLY | O_CLOEXEC);
    const std::int64_t pid = root;
    if (file < 0) return;
    (void)!pwrite(file, &pid, sizeof pid, offsetof(mpt_slot_file, root_pid));
    close(file);
}

}  // namespace

std::string partial_file(const std::string& file) { return fs::absolute(file).string() + ".partial"; }

std::optional<start_error> run(const record_options& options, ending& end) {
    std::string path;
    if (auto error = measure::check_preloadable(options.command.front(), path)) return error;
    const std::string partial = partial_file(options.file);
    if (auto error = prepare(options, partial)) return error;
    measure::start_options start_options;
    start_options.environment = {{"LD_PRELOAD", measure::preload_value(own_library())}, {variable, partial}};
    const signal_relay relay;
    pid_t child = 0;
    if (auto error = measure::start(path, options.command, start_options, child)) {
        unlink(partial.c_str());  // made above, by us
        return error;
    }
    note_root(partial, child);
    signal_relay::started(child);
    end = wait_for(child);
    return std::nullopt;
}

}  // namespace millpond::record
