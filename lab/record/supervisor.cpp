// SPDX-License-Identifier: BSL-1.0
#include "lab/record/supervisor.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "lab/measure/preload_check.hpp"
#include "lab/measure/start.hpp"
#include "lab/record/recording.hpp"
#include "lab/trace/finish.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;
using measure::start_error;

constexpr std::uint32_t usual_check_interval = 4096, thorough_check_interval = 64;

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

// A process image that left files: PID.IMAGE.raw.
struct image_files {
    std::uint64_t pid, image;
    fs::path raw, open;
};

std::vector<image_files> list_images(const fs::path& partial) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, image_files> found;
    for (const auto& entry : fs::directory_iterator(partial)) {
        unsigned long long pid = 0, image = 0;
        int used = 0;
        const std::string name = entry.path().filename();
        if (sscanf(name.c_str(), "%llu.%llu.raw%n", &pid, &image, &used) == 2 && used == static_cast<int>(name.size()))
            found[{pid, image}] = {pid, image, entry.path(), fs::path(entry.path()).replace_extension(".open")};
    }
    std::vector<image_files> list;
    for (auto& [key, files] : found) list.push_back(std::move(files));
    return list;
}

template <class T>
T read_at(const fs::path& path, std::uint64_t offset) {
    T value{};
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return file ? value : T{};
}

// A process that has ended but was not waited for yet writes no more.
bool still_runs(std::uint64_t pid) {
    if (kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM) return false;
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t name_end = line.rfind(") ");
    return name_end == std::string::npos || name_end + 2 >= line.size() ||
           std::string_view("ZX").find(line[name_end + 2]) == std::string_view::npos;
}

std::string trace_name(const std::string& file, const image_files& i, std::uint64_t root) {
    if (i.pid == root && i.image == 0) return file;
    const std::uint64_t number = i.pid == root ? i.image - 1 : i.image;
    std::string name = file + "." + std::to_string(i.pid);
    return number == 0 ? name : name + "." + std::to_string(number);
}

trace::end_record describe_end(const counters& c, const std::optional<ending>& end) {
    trace::end_record record;
    record.exit_status = end ? end->exit_status : -1;
    record.signal = end ? end->signal : 0;
    struct timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    record.end_ticks = __builtin_ia32_rdtsc();
    record.end_ns = static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
    record.events_lost = c.events_lost;
    record.clean = end ? end->signal == 0 : c.exited != 0;
    record.stopped_early = c.stopped;
    record.aliasing_sampled = c.aliasing_sampled;
    record.aliasing_differed = c.aliasing_differed;
    record.aliasing_differed_deep = c.aliasing_differed_deep;
    record.allocations_failed = c.allocations_failed;
    return record;
}

}  // namespace

supervisor::supervisor(std::string file)
    : file_(std::move(file)), partial_(fs::absolute(file_).string() + ".partial") {}

std::optional<start_error> supervisor::prepare(const record_options& options) {
    if (fs::exists(partial_))
        return start_error{start_error::environment_lacks,
                           partial_ +
                               " exists: another recording writes there or was interrupted; complete it with "
                               "'millpond-record --finish " +
                               file_ + "', or remove it"};
    if (fs::is_directory(file_))
        return start_error{start_error::environment_lacks, file_ + " is a directory; name a file for the trace"};
    std::error_code error;
    if (!fs::create_directory(partial_, error))
        return start_error{start_error::environment_lacks, "cannot write the trace to " + file_ + ": " +
                                                               error.message() + "; choose another place with -o"};
    recording shared{};
    shared.magic = recording::expected_magic;
    shared.version = recording::expected_version;
    shared.bytes_max = options.bytes_max;
    shared.check_interval = options.check_contexts ? thorough_check_interval : usual_check_interval;
    std::string page(mpt_open_header_bytes, '\0');
    memcpy(page.data(), &shared, sizeof shared);
    std::ofstream out(partial_ + "/recording", std::ios::binary);
    out.write(page.data(), static_cast<std::streamsize>(page.size()));
    out.close();
    if (out) return std::nullopt;
    const std::string why = strerror(errno);
    discard();
    return start_error{start_error::environment_lacks, "cannot write to " + partial_ + ": " + why};
}

void supervisor::discard() noexcept {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
}

std::optional<start_error> supervisor::run(const record_options& options, ending& end) {
    std::string path;
    if (auto error = measure::check_preloadable(options.command.front(), path)) return error;
    if (auto error = prepare(options)) return error;
    measure::start_options start_options;
    start_options.environment = {{"LD_PRELOAD", measure::preload_value(own_library())}, {variable, partial_}};
    const signal_relay relay;
    pid_t child = 0;
    if (auto error = measure::start(path, options.command, start_options, child)) {
        discard();
        return error;
    }
    {
        std::fstream shared(partial_ + "/recording", std::ios::binary | std::ios::in | std::ios::out);
        shared.seekp(offsetof(recording, root_pid));
        const std::int32_t root = child;
        shared.write(reinterpret_cast<const char*>(&root), sizeof root);
    }
    signal_relay::started(child);
    end = wait_for(child);
    return std::nullopt;
}

std::optional<start_error> supervisor::finish(const std::optional<ending>& end) {
    if (!fs::exists(partial_ + "/recording"))
        return start_error{start_error::input_missing, partial_ + " holds no recording; nothing to finish"};
    const auto shared = read_at<recording>(partial_ + "/recording", 0);
    const auto root = static_cast<std::uint64_t>(shared.root_pid);
    for (const trace::trace_file& old : trace::find_trace_set(file_)) fs::remove(old.path);  // of an earlier recording

    std::optional<start_error> problem;
    std::string running;
    const std::vector<image_files> images = list_images(partial_);
    std::uint64_t last_root_image = 0;
    for (const image_files& i : images)
        if (i.pid == root) last_root_image = i.image;
    for (const image_files& i : images) {
        if (still_runs(i.pid)) {
            running += (running.empty() ? "" : ", ") + std::to_string(i.pid);
            continue;
        }
        // Only the last image of the root process ended as it did; those before were replaced by an exec.
        const bool is_end = i.pid == root && i.image == last_root_image;
        try {
            const auto c = read_at<counters>(i.open, counters::offset);
            trace::finish(i.raw, i.open, trace_name(file_, i, root), describe_end(c, is_end ? end : std::nullopt));
            fs::remove(i.raw);
            fs::remove(i.open);
        } catch (const trace::trace_error& nothing) {
            // a process that was ended while its recorder started
            fs::remove(i.raw);
            fs::remove(i.open);
        } catch (const std::system_error& e) {
            problem = start_error{start_error::environment_lacks, std::string("cannot write the trace: ") + e.what() +
                                                                      "; make room, then complete it with "
                                                                      "'millpond-record --finish " +
                                                                      file_ + "'"};
        }
    }
    if (!running.empty())
        return start_error{start_error::environment_lacks,
                           "the program left processes that still run and are recorded (" + running +
                               "); when they have "
                               "ended, complete their traces with 'millpond-record --finish " +
                               file_ + "'"};
    if (problem) return problem;
    discard();
    if (images.empty())
        return start_error{
            start_error::environment_lacks,
            "the program did not load the recorder, so no trace was written (does it clear LD_PRELOAD or "
            "drop the right to write to the trace's folder?)"};
    if (shared.stopped > 1)
        return start_error{start_error::environment_lacks,
                           std::string("recording stopped early: ") + strerror(static_cast<int>(shared.stopped)) +
                               "; the trace holds what was written until then, and says how many events were lost"};
    return std::nullopt;
}

}  // namespace millpond::record
