// SPDX-License-Identifier: BSL-1.0
#include "lab/record/control.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/program/program.hpp"
#include "lab/record/finishing.hpp"
#include "lab/record/stretches.hpp"

namespace millpond::record {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t request_bytes_max = 512, reply_bytes_max = 64 << 10;

// The folders that may be RUN, the preferred one first.
std::vector<std::string> run_folders() {
    std::vector<std::string> all;
    if (const char* const own = std::getenv("XDG_RUNTIME_DIR"); own != nullptr && own[0] == '/')
        all.push_back(std::string(own) + "/millpond");
    all.push_back("/tmp/millpond-" + std::to_string(geteuid()));
    return all;
}

// Returns a descriptor of the folder, or −1 if another user could enter it; errno has the reason.
int open_private(const std::string& folder) {
    const int run = open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status{};
    if (run < 0 || (fstat(run, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 077) == 0)) return run;
    close(run);
    errno = EPERM;
    return -1;
}

int make_private() {
    std::string why;
    for (const std::string& folder : run_folders()) {
        (void)!mkdir(folder.c_str(), 0700);
        if (const int run = open_private(folder); run >= 0) return run;
        why += (why.empty() ? "" : "; ") + folder + ": " + strerror(errno);
    }
    throw program::failure(program::environment, "no private folder for the socket of a recording (" + why +
                                                     "): set XDG_RUNTIME_DIR to a folder of yours");
}

// The address of a socket in a folder that is open; its own path may be too long for an address.
sockaddr_un address_of(int run, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(run) + "/" + name;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
}

bool is_own_user(int client) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

// A reply is one message: status, files, a zero, notices.
std::string packed(const control_reply& reply) {
    std::string text(1, static_cast<char>(reply.status));
    text += reply.files + '\0' + reply.notices;
    if (text.size() > reply_bytes_max) text.resize(reply_bytes_max);
    return text;
}

control_reply unpacked(const std::string& text) {
    const std::size_t end = text.find('\0', 1);
    if (text.empty() || end == text.npos)
        throw program::failure(program::environment, "the recorder ended before it answered");
    return {text[0], text.substr(1, end - 1), text.substr(end + 1)};
}

// True if no recorder listens and the program has ended. A recorder that was killed leaves such a socket.
bool is_abandoned(int run, const std::string& name) {
    pid_t program = 0;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data(), end, program).ptr != end || kill(program, 0) == 0 || errno != ESRCH) return false;
    const int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(run, name);
    const bool refused =
        connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
    close(client);
    return refused;
}

void remove_abandoned(int run) {
    std::error_code failed;
    const fs::directory_iterator end;
    for (fs::directory_iterator at("/proc/self/fd/" + std::to_string(run), failed); !failed && at != end;
         at.increment(failed))
        if (const std::string name = at->path().filename(); is_abandoned(run, name)) unlinkat(run, name.c_str(), 0);
}

control_reply refused(const program::failure& why) { return {why.status, "", std::string(why.what()) + "\n"}; }

}  // namespace

control_server::control_server(std::string file) : file_(std::move(file)) {
    run_ = make_private();
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    name_ = "starting-" + std::to_string(getpid());
    const sockaddr_un address = address_of(run_, name_);
    unlinkat(run_, name_.c_str(), 0);  // of a recorder with this number that was killed
    remove_abandoned(run_);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, 8) != 0)
        throw program::failure(program::environment, std::string("no socket for a recording: ") + strerror(errno));
}

control_server::~control_server() {
    if (thread_.joinable()) {
        thread_.request_stop();
        shutdown(listener_, SHUT_RDWR);  // a socket that listens wakes who waits in accept
        thread_.join();
    }
    try {
        if (marks_) marks_->settle();
    } catch (const std::exception& why) {
        program::say(why.what());
    }
    unlinkat(run_, name_.c_str(), 0);
    close(listener_);
    close(run_);
}

// The name of a killed recorder's socket is taken over: the program with that number is ours now.
void control_server::serve(pid_t root, mpt_slot_file& shared) {
    shared_ = &shared;
    marks_.emplace(partial_file(file_), shared);
    const std::string name = std::to_string(root);
    if (renameat(run_, name_.c_str(), run_, name.c_str()) == 0) name_ = name;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve_until(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void control_server::serve_until(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) continue;
        serve_one(client);
        close(client);
    }
}

void control_server::serve_one(int client) {
    constexpr timeval patience{2, 0};  // a client that says nothing must not keep others waiting
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    char request[request_bytes_max];
    const ssize_t bytes = recv(client, request, sizeof request, 0);
    if (bytes <= 0 || !is_own_user(client)) return;
    control_reply reply;
    try {
        reply = carry_out(std::string(request, static_cast<std::size_t>(bytes)));
    } catch (const program::failure& why) {
        reply = refused(why);
    } catch (const std::exception& why) {
        reply = refused({program::environment, why.what()});
    }
    const std::string text = packed(reply);
    (void)!send(client, text.data(), text.size(), MSG_NOSIGNAL);
}

control_reply control_server::carry_out(const std::string& request) {
    constexpr std::string_view marking = "mark ";
    if (request.starts_with(marking)) return mark(request.substr(marking.size()));
    const bool known = request == "start" || request == "stop" || request == "snapshot";
    if (!known)
        throw program::failure(program::usage, request + " is neither start nor stop nor snapshot nor mark NAME");
    if (__atomic_load_n(&shared_->turn, __ATOMIC_RELAXED) == 0)
        throw program::failure(program::usage,
                               "the program is recorded from its start to its end: 'millpond trace "
                               "record --with idle PROGRAM' makes a recording that can " +
                                   request);
    if (__atomic_load_n(&shared_->attached, __ATOMIC_RELAXED) != 0)
        throw program::failure(program::usage,
                               "the program is attached to, so it cannot " + request +
                                   ": --for or Ctrl-C ends the recording, and another --attach begins one");
    return request == "start" ? start() : end_stretch(request == "snapshot");
}

control_reply control_server::start() {
    const std::uint32_t turn = __atomic_load_n(&shared_->turn, __ATOMIC_RELAXED);
    if ((turn & mpt_asleep) == 0)
        throw program::failure(program::usage, "the program is recorded already: stop or snapshot writes its trace");
    const auto has_loaded = [this] { return __atomic_load_n(&shared_->images, __ATOMIC_RELAXED) > 0; };
    constexpr int tries = 200;  // a program that has just been started takes some milliseconds
    for (int i = 0; i < tries && !has_loaded(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!has_loaded())
        throw program::failure(program::environment, "the program has not loaded the recorder (is it static?)");
    // --max-trace bounds each stretch.
    __atomic_store_n(&shared_->bytes_sealed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared_->limit_reached, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared_->turn, turn + 1, __ATOMIC_SEQ_CST);
    return {};
}

control_reply control_server::mark(const std::string& name) {
    (void)turn_of_stretch();
    marks_->mark(name);
    return {};
}

std::uint32_t control_server::turn_of_stretch() const {
    const std::uint32_t turn = __atomic_load_n(&shared_->turn, __ATOMIC_RELAXED);
    if ((turn & mpt_asleep) != 0)
        throw program::failure(program::usage, "the program is not recorded now: start begins a trace");
    return turn;
}

control_reply control_server::end_stretch(bool goes_on) {
    const std::uint32_t turn = turn_of_stretch();
    if (goes_on) {
        __atomic_store_n(&shared_->bytes_sealed, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&shared_->limit_reached, 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&shared_->stopped, turn, __ATOMIC_RELAXED);
    __atomic_store_n(&shared_->turn, turn + (goes_on ? 2 : 1), __ATOMIC_SEQ_CST);
    marks_->settle();
    const finish_outcome outcome = finish_stretches(file_);
    control_reply reply;
    for (const std::string& file : outcome.stretches) reply.files += fs::absolute(file).string() + "\n";
    for (const std::string& notice : outcome.notices) reply.notices += notice + "\n";
    if (outcome.problem) {
        reply.status = outcome.problem->status;
        reply.notices += std::string(outcome.problem->what()) + "\n";
    } else if (outcome.stretches.empty()) {
        reply.notices += why_no_trace(*shared_) + "\n";
    }
    return reply;
}

control_reply ask(pid_t root, const std::string& request) {
    const std::string name = std::to_string(root);
    int error = ENOENT;
    for (const std::string& folder : run_folders()) {
        const int run = open_private(folder);
        if (run < 0) continue;
        const int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        const sockaddr_un address = address_of(run, name);
        std::optional<std::string> answer;
        if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            std::string text(reply_bytes_max, '\0');
            const bool sent = is_own_user(server) && send(server, request.data(), request.size(), MSG_NOSIGNAL) > 0;
            const ssize_t bytes = sent ? recv(server, text.data(), text.size(), 0) : 0;
            text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
            answer = text;
        } else if (errno != ENOENT) {
            error = errno;
        }
        close(server);
        close(run);
        if (answer) return unpacked(*answer);
    }
    if (error == ECONNREFUSED)
        throw program::failure(program::input, "the recorder of process " + name +
                                                   " was killed; 'millpond trace record --finish FILE' completes its "
                                                   "traces");
    throw program::failure(program::input, "process " + name +
                                               " is not a program that you record: 'millpond trace record PROGRAM' "
                                               "starts one; PID is the program's number, not the recorder's");
}

}  // namespace millpond::record
