// SPDX-License-Identifier: BSL-1.0
#include "lab/program/aside_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "lab/program/program.hpp"

namespace millpond::program {
namespace {

constexpr int names_tried = 1000;

// Opens a new file; `name` gets its name. Returns -1 with errno if that fails.
int create_beside(const std::string& path, std::string& name) {
    for (int i = 0; i < names_tried; ++i) {
        name = path + "." + std::to_string(::getpid()) + (i == 0 ? "" : "-" + std::to_string(i)) + ".partial";
        const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (made >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
    throw failure(environment,
                  "cannot write " + path + ": " + std::strerror(error) + "; choose a place that can be written");
}

}  // namespace

aside_file::aside_file(std::string path) : path_(std::move(path)) {
    struct stat about;
    const bool there = ::stat(path_.c_str(), &about) == 0;
    if (there && S_ISDIR(about.st_mode)) cannot_write(path_, EISDIR);
    if (there && !S_ISREG(about.st_mode))
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    else
        descriptor_ = create_beside(path_, partial_);
    if (descriptor_ < 0) cannot_write(path_, errno);
    if (::fstat(descriptor_, &about) == 0) {
        device_ = about.st_dev;
        inode_ = about.st_ino;
    }
}

aside_file::~aside_file() {
    if (descriptor_ < 0) return;
    remove_own();
    ::close(descriptor_);
}

// Removes it only while the name still means the file that we made.
void aside_file::remove_own() const noexcept {
    struct stat named;
    if (partial_.empty() || ::lstat(partial_.c_str(), &named) != 0) return;
    if (named.st_dev == device_ && named.st_ino == inode_) ::unlink(partial_.c_str());
}

void aside_file::write(std::string_view content) {
    if (!write_all(descriptor_, content)) cannot_write(path_, errno);
}

void aside_file::write_at(std::uint64_t offset, std::string_view content) {
    while (!content.empty()) {
        const ssize_t done = ::pwrite(descriptor_, content.data(), content.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) cannot_write(path_, errno);
        content.remove_prefix(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

void aside_file::commit() {
    const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
    if (closed && (partial_.empty() || std::rename(partial_.c_str(), path_.c_str()) == 0)) return;
    const int error = errno;
    remove_own();
    cannot_write(path_, error);
}

bool write_all(int descriptor, std::string_view content) {
    while (!content.empty()) {
        const ssize_t done = ::write(descriptor, content.data(), content.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
}

void write_whole(const std::string& path, std::string_view content) {
    aside_file file(path);
    file.write(content);
    file.commit();
}

void write_or_print(const std::string& path, const std::string& content) {
    path == "-" ? print(content) : write_whole(path, content);
}

void prove_writable(const std::string& path) {
    struct stat about;
    // A FIFO's reader may come later; opening it here would wait for it.
    if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        if (::access(path.c_str(), W_OK) == 0) return;
        cannot_write(path, errno);
    }
    const aside_file tried(path);
}

}  // namespace millpond::program
