// SPDX-License-Identifier: BSL-1.0
#include "lab/references/capture_writer.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "lab/program/aside_file.hpp"
#include "lab/program/program.hpp"
#include "lab/references/channel.h"

namespace millpond::references {

namespace {

constexpr std::size_t log_bytes_max = 64 * 1024, notes_max = 1000;
constexpr char separator = '\0';

// The loop of the writer. It runs in a forked process that owns nothing else.
class trace_writer {
  public:
    trace_writer(std::string stem, int channel, int report)
        : stem_(std::move(stem)), channel_(channel), report_(report) {}

    [[noreturn]] void run() {
        alignas(millpond_message) static std::array<char, millpond_message_bytes_max> bytes;
        for (;;) {
            const ssize_t got = ::recv(channel_, bytes.data(), bytes.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) _exit(0);
            if (got == 0) {
                if (is_over()) _exit(0);
                continue;
            }
            empty_ = 0;
            take({bytes.data(), static_cast<std::size_t>(got)});
        }
    }

  private:
    struct stream {
        std::string path;
        int descriptor;
    };

    // Returns whether no process is left that could send. Valgrind's log also sends empty messages, which look like the
    // end.
    bool is_over() {
        constexpr int empty_max = 1000;
        pollfd asked{channel_, POLLIN, 0};
        ::poll(&asked, 1, 0);
        return (asked.revents & POLLHUP) != 0 && ++empty_ > empty_max;
    }

    void take(std::string_view message) {
        millpond_message header{};
        if (message.size() >= sizeof header) memcpy(&header, message.data(), sizeof header);
        if (header.magic != MILLPOND_MESSAGE_MAGIC) return add_log(message);
        message.remove_prefix(sizeof header);
        switch (header.kind) {
            case millpond_message_open:
                return open(header);
            case millpond_message_data:
                return write(header, message);
            case millpond_message_close:
                return close(header);
            case millpond_message_note:
                if (notes_.size() < notes_max) notes_.push_back({header.pid, std::string(message)});
                return;
            case millpond_message_sync:
                return report();
            default:
                return;
        }
    }

    void add_log(std::string_view text) {
        if (log_.size() < log_bytes_max) log_ += text.substr(0, log_bytes_max - log_.size());
    }

    void open(const millpond_message& header) {
        std::string path;
        int made = -1;
        do {
            path = stem_ + "." + std::to_string(header.pid) + "." + std::to_string(images_[header.pid]++);
            made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        } while (made < 0 && errno == EEXIST);
        if (made < 0) return fail(path, errno);
        streams_[header.stream] = {path, made};
    }

    void write(const millpond_message& header, std::string_view content) {
        const auto found = streams_.find(header.stream);
        if (found == streams_.end() || program::write_all(found->second.descriptor, content)) return;
        fail(found->second.path, errno);
        close(header);
    }

    void close(const millpond_message& header) {
        const auto found = streams_.find(header.stream);
        if (found == streams_.end()) return;
        ::close(found->second.descriptor);
        streams_.erase(found);
    }

    void fail(const std::string& path, int error) {
        if (failed_.empty()) error_ = error;
        failed_.push_back(path);
    }

    void report() {
        std::string text = std::to_string(error_) + separator + std::to_string(failed_.size()) + separator;
        for (const std::string& file : failed_) text += file + separator;
        text += std::to_string(notes_.size()) + separator;
        for (const auto& [pid, fields] : notes_)
            text += std::to_string(pid) + separator + std::to_string(fields.size()) + separator + fields;
        text += log_;
        (void)program::write_all(report_, text);
        ::close(report_);
    }

    const std::string stem_;
    const int channel_, report_;
    std::map<std::uint64_t, stream> streams_;
    std::map<std::uint32_t, std::uint64_t> images_;
    struct kept_note {
        std::uint32_t pid;
        std::string fields;
    };
    std::vector<kept_note> notes_;
    std::string log_;
    int error_ = 0, empty_ = 0;
    std::vector<std::string> failed_;
};

// Detaches the writer: signals that a user sends to the program do not reach it, and it keeps none of the user's
// streams.
[[noreturn]] void become_writer(const std::string& stem, int channel, int report) {
    for (const int s : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGXFSZ}) signal(s, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; ++standard) ::dup2(nowhere, standard);
    const int first = std::min(channel, report), second = std::max(channel, report);
    if (first > 3) close_range(3, static_cast<unsigned>(first) - 1, 0);
    if (second > first + 1) close_range(static_cast<unsigned>(first) + 1, static_cast<unsigned>(second) - 1, 0);
    close_range(static_cast<unsigned>(second) + 1, ~0U, 0);
    trace_writer(stem, channel, report).run();
}

[[noreturn]] void refuse(const char* what) {
    throw program::failure(program::environment, std::string("cannot make ") + what + ": " + strerror(errno));
}

// Parses a report.
class report_text {
  public:
    explicit report_text(std::string_view text) : rest_(text) {}

    std::string field() {
        const std::size_t end = rest_.find(separator);
        if (end == rest_.npos) return {};
        const std::string result(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        return result;
    }
    std::size_t number() {
        const std::string digits = field();
        return digits.empty() ? 0 : std::stoull(digits);
    }
    std::string bytes(std::size_t count) {
        const std::string result(rest_.substr(0, count));
        rest_.remove_prefix(result.size());
        return result;
    }
    std::string rest() const { return std::string(rest_); }

  private:
    std::string_view rest_;
};

}  // namespace

capture_writer::capture_writer(const std::string& stem) {
    int ends[2], report[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refuse("a socket");
    if (pipe2(report, O_CLOEXEC) != 0) refuse("a pipe");
    // Moves each descriptor off the numbers of standard streams, which are free if the program has none.
    for (int* one : {&ends[0], &ends[1], &report[0], &report[1]}) {
        const int lifted = fcntl(*one, F_DUPFD_CLOEXEC, 3);
        if (lifted < 0) refuse("a descriptor");
        ::close(*one);
        *one = lifted;
    }
    const pid_t child = fork();
    if (child < 0) refuse("a process");
    if (child == 0) become_writer(stem, ends[1], report[1]);
    ::close(ends[1]);
    ::close(report[1]);
    channel_ = ends[0];
    report_ = report[0];
    fcntl(channel_, F_SETFD, 0);
}

capture_writer::~capture_writer() {
    if (channel_ >= 0) ::close(channel_);
    if (report_ >= 0) ::close(report_);
}

void capture_writer::inherited() { fcntl(channel_, F_SETFD, FD_CLOEXEC); }

capture_report capture_writer::settle() {
    millpond_message sync{};
    sync.magic = MILLPOND_MESSAGE_MAGIC;
    sync.kind = millpond_message_sync;
    while (send(channel_, &sync, sizeof sync, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
    ::close(channel_);
    channel_ = -1;
    std::string text;
    std::array<char, 4096> bytes{};
    for (ssize_t got; (got = ::read(report_, bytes.data(), bytes.size())) != 0;) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        text.append(bytes.data(), static_cast<std::size_t>(got));
    }
    capture_report result;
    report_text parts(text);
    result.error = static_cast<int>(parts.number());
    for (std::size_t i = parts.number(); i > 0; --i) result.failed.push_back(parts.field());
    for (std::size_t i = parts.number(); i > 0; --i) {
        capture_note note;
        note.pid = static_cast<std::uint32_t>(parts.number());
        const std::string all = parts.bytes(parts.number());
        for (std::size_t begin = 0; begin < all.size();) {
            const std::size_t end = std::min(all.find(separator, begin), all.size());
            note.fields.push_back(all.substr(begin, end - begin));
            begin = end + 1;
        }
        result.notes.push_back(std::move(note));
    }
    result.log = parts.rest();
    return result;
}

}  // namespace millpond::references
