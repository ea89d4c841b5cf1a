// SPDX-License-Identifier: BSL-1.0
// capture_run: one run of a program under millpond-references, in a folder of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace millpond::test {

// The output and the exit status of a shell command.
struct command_result {
    std::string output;
    int status = 0;  // as the shell has it

    explicit command_result(const std::string& command) {
        FILE* const pipe = popen(command.c_str(), "r");
        std::array<char, 4096> part{};
        while (const std::size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
        const int ended = pclose(pipe);
        status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    }
};

class folder {
  public:
    folder() {
        std::string name = std::filesystem::temp_directory_path() / "millpond_references_XXXXXX";
        path_ = mkdtemp(name.data());
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    std::string operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

inline std::string capture_command(const std::string& file, const std::string& program,
                                   const std::string& options = {}) {
    return std::string(MILLPOND_REFERENCES) + " -o " + file + " " + options + " -- " + program;
}

// Returns the reason why captures are impossible here, or an empty text.
inline std::string reason_to_skip() {
    const command_result tried(std::string(MILLPOND_REFERENCES) + " --discard -- /bin/true 2>&1");
    return tried.status == 0 ? "" : tried.output;
}

}  // namespace millpond::test

#define MILLPOND_SKIP_WITHOUT_VALGRIND() \
    if (const std::string why = millpond::test::reason_to_skip(); !why.empty()) GTEST_SKIP() << why
