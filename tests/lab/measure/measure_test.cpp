// SPDX-License-Identifier: BSL-1.0
#include "lab/measure/measurement.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "lab/measure/preload_check.hpp"
#include "lab/program/program.hpp"

namespace {

using namespace millpond::measure;
namespace fs = std::filesystem;

class in_folder : public testing::Test {
  protected:
    void SetUp() override {
        folder = fs::temp_directory_path() / ("millpond_measure_" + std::to_string(getpid()));
        fs::create_directories(folder);
    }
    void TearDown() override { fs::remove_all(folder); }

    std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) {
        const std::string path = folder / name;
        std::ofstream(path, std::ios::binary) << content;
        ::chmod(path.c_str(), mode);
        return path;
    }
    static std::string content(const fs::path& path) {
        std::ifstream in(path, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }
    static std::optional<millpond::program::failure> failure_of(const std::function<void()>& act) {
        try {
            act();
            return std::nullopt;
        } catch (const millpond::program::failure& error) {
            return error;
        }
    }
    static int status_of(const std::string& program) {
        const auto error = failure_of([&] { check_preloadable(program); });
        if (!error) return 0;
        const std::string message = error->what();
        EXPECT_NE(message.find(program.substr(program.rfind('/') + 1)), std::string::npos) << message;
        return error->status;
    }
    static measurement run(const std::vector<std::string>& arguments, const start_options& options = {}) {
        return measure(find_program(arguments[0]), arguments, options);
    }
    // A copy of a dynamic program with a part of its header changed.
    std::string damaged_program(std::size_t offset, char byte) {
        std::string image = content("/bin/true");
        image[offset] = byte;
        return file("damaged", image);
    }

    fs::path folder;
};

using preload_check = in_folder;
using starting = in_folder;
using measuring = in_folder;

TEST_F(preload_check, a_dynamic_program_is_found_in_PATH_and_by_its_path) {
    const preloadable found = check_preloadable("true");
    EXPECT_EQ(found.path.front(), '/');
    EXPECT_EQ(found.image, found.path);
    EXPECT_EQ(check_preloadable("/bin/true").path, "/bin/true");
}

TEST_F(preload_check, a_program_that_cannot_start_has_status_5) {
    EXPECT_EQ(status_of("no-such-program-anywhere"), 5);
    EXPECT_EQ(status_of("/no/such/program"), 5);
    EXPECT_EQ(status_of(folder), 5);
    EXPECT_EQ(status_of(file("plain", "echo hello\n")), 5) << "neither ELF nor #!";
    EXPECT_EQ(status_of(file("empty", "")), 5);
    EXPECT_EQ(status_of(file("lost", "#!/no/such/interpreter\n")), 5);
    EXPECT_EQ(status_of(file("empty_interpreter", "#!\n")), 5);
    if (geteuid() != 0) {
        EXPECT_EQ(status_of(file("closed", content("/bin/true"), 0644)), 5);
    } else {
        EXPECT_EQ(status_of(file("closed", content("/bin/true"), 0444)), 5)
            << "root may run only files with an execute bit";
    }
    EXPECT_EQ(status_of(file("short", "\177ELF\2\1\1")), 5);
}

TEST_F(preload_check, a_script_is_as_good_as_its_interpreter) {
    const std::string script = file("script", "#! /bin/sh -e\ntrue\n");
    const preloadable found = check_preloadable(script);
    EXPECT_EQ(found.path, script);
    EXPECT_EQ(found.image, "/bin/sh");
    const std::string outer = file("outer", "#!" + script + "\n");
    EXPECT_EQ(check_preloadable(outer).image, "/bin/sh");
    const std::string circle = folder / "circle";
    EXPECT_EQ(status_of(file("circle", "#!" + circle + "\n")), 5);
}

TEST_F(preload_check, a_program_that_cannot_be_preloaded_has_status_4) {
    EXPECT_EQ(status_of(damaged_program(4, 1)), 4) << "32-bit";
    EXPECT_EQ(status_of(damaged_program(18, 40)), 4) << "another machine";
    EXPECT_EQ(status_of(file("static", content(STATIC_PROGRAM))), 4);
    EXPECT_EQ(status_of(file("set_user_id", content("/bin/true"), 04755)), 4);
    EXPECT_EQ(status_of(file("set_group_id", content("/bin/true"), 02755)), 4);
    std::string image = content("/bin/true");
    const std::size_t linker = image.find("/lib64/ld-linux-x86-64.so.2");
    ASSERT_NE(linker, std::string::npos);
    image.replace(linker, 9, "/bin/sh\0\0", 9);
    EXPECT_EQ(status_of(file("other_libc", image)), 4);
}

TEST_F(preload_check, every_truncation_of_a_program_is_refused_or_enough) {
    const std::string image = content("/bin/true");
    for (std::size_t length = 0; length < 1200; length += 7) {
        failure_of([&] { check_preloadable(file("cut", image.substr(0, length))); });
    }
}

TEST_F(preload_check, skips_folders_of_PATH_whose_file_is_not_executable) {
    fs::create_directories(folder / "first");
    fs::create_directories(folder / "second");
    file("first/tool", content("/bin/true"), 0444);
    file("second/tool", content("/bin/true"));
    const std::string before = std::getenv("PATH");
    ::setenv("PATH", ((folder / "first").string() + ":" + (folder / "second").string()).c_str(), 1);
    const auto lost = failure_of([] { find_program("tool"); });
    fs::remove(folder / "second" / "tool");
    const auto refused = failure_of([] { find_program("tool"); });
    ::setenv("PATH", before.c_str(), 1);
    EXPECT_FALSE(lost);
    ASSERT_TRUE(refused);
    EXPECT_NE(std::string(refused->what()).find("ermission"), std::string::npos) << refused->what();
}

TEST_F(starting, streams_are_redirected_and_equal_paths_share_a_file) {
    start_options options;
    options.stdin_path = file("in", "hello\n", 0644);
    options.stdout_path = options.stderr_path = folder / "out";
    run({"sh", "-c", "cat; echo error >&2; echo done"}, options);
    EXPECT_EQ(content(folder / "out"), "hello\nerror\ndone\n");
}

TEST_F(starting, variables_are_set_removed_and_kept) {
    ::setenv("MILLPOND_TEST_KEPT", "kept", 1);
    ::setenv("MILLPOND_TEST_GONE", "gone", 1);
    start_options options;
    options.stdout_path = folder / "out";
    options.environment = {
        {"MILLPOND_TEST_NEW", "first"}, {"MILLPOND_TEST_GONE", std::nullopt}, {"MILLPOND_TEST_NEW", "last"}};
    run({"sh", "-c", "echo $MILLPOND_TEST_KEPT-$MILLPOND_TEST_GONE-$MILLPOND_TEST_NEW"}, options);
    EXPECT_EQ(content(folder / "out"), "kept--last\n");
}

TEST_F(starting, no_descriptor_of_ours_reaches_the_program) {
    start_options options;
    options.stdout_path = folder / "out";
    options.stdin_path = "/dev/null";
    const int inherited = ::open("/dev/null", O_RDONLY);
    run({"sh", "-c", "ls /proc/self/fd | wc -l"}, options);
    const int with_one = std::stoi(content(folder / "out"));
    ::close(inherited);
    run({"sh", "-c", "ls /proc/self/fd | wc -l"}, options);
    EXPECT_EQ(std::stoi(content(folder / "out")), with_one - 1);
}

TEST_F(starting, a_failed_exec_or_open_is_an_error_and_leaves_no_process) {
    auto error = failure_of([] { start("/no/such/program", {"x"}, {}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->status, 5);
    start_options options;
    const auto start_true = [&] { start("/bin/true", {"true"}, options); };
    options.stdin_path = folder / "missing";
    error = failure_of(start_true);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->status, 3);
    options = {};
    options.stdout_path = folder / "no" / "folder";
    error = failure_of(start_true);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->status, 4);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "every child was waited for";
}

TEST_F(starting, the_signal_mask_and_ignored_signals_are_inherited) {
    sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    start_options options;
    options.stdout_path = folder / "out";
    run({"grep", "SigBlk", "/proc/self/status"}, options);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    EXPECT_NE(content(folder / "out").find("0000000000000200"), std::string::npos) << content(folder / "out");
}

TEST_F(starting, our_library_comes_before_what_the_user_preloads) {
    ::unsetenv("LD_PRELOAD");
    EXPECT_EQ(preload_value("/ours.so"), "/ours.so");
    ::setenv("LD_PRELOAD", "/theirs.so", 1);
    EXPECT_EQ(preload_value("/ours.so"), "/ours.so:/theirs.so");
    ::unsetenv("LD_PRELOAD");
}

TEST_F(measuring, the_end_of_a_program_is_told) {
    EXPECT_EQ(run({"sh", "-c", "exit 7"}).exit_status, 7);
    EXPECT_EQ(run({"sh", "-c", "exit 7"}).signal, 0);
    EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}).signal, SIGKILL);
    EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}).signal, SIGTERM);
}

// Runs this test program as the measured one: it touches the given number of bytes.
TEST_F(measuring, peak_and_faults_follow_the_memory_that_is_touched) {
    const std::string own = fs::read_symlink("/proc/self/exe");
    const measurement small = run({own, "--touch", "0"});
    const measurement large = run({own, "--touch", "64"});
    const std::uint64_t touched = std::uint64_t{64} << 20;
    EXPECT_GE(large.peak_bytes, small.peak_bytes + touched * 9 / 10);
    EXPECT_GE(large.page_faults, small.page_faults + 64 * 256 * 9 / 10) << "huge pages are off for this memory";
    EXPECT_GT(large.wall_seconds, 0);
    EXPECT_GE(large.cpu_seconds(), large.user_seconds);
}

TEST_F(measuring, the_callers_own_memory_is_not_the_programs) {
    const measurement before = run({"true"});
    // Mapped and touched files belong to no child; a child shares only the anonymous memory.
    EXPECT_LT(before.peak_bytes, std::uint64_t{16} << 20);
}

TEST_F(measuring, descendants_that_were_waited_for_count) {
    const std::string own = fs::read_symlink("/proc/self/exe");
    const measurement inner = run({"sh", "-c", "'" + own + "' --touch 64; true"});
    EXPECT_GE(inner.peak_bytes, std::uint64_t{64} << 20);
}

TEST_F(measuring, padding_lengthens_the_environment_by_what_was_asked) {
    start_options options;
    options.stdout_path = folder / "out";
    add_padding(options, 100);
    run({"sh", "-c", "printf %s \"$MILLPOND_PAD\""}, options);
    EXPECT_EQ(content(folder / "out").size(), 100u);
    start_options none;
    add_padding(none, 0);
    EXPECT_TRUE(none.environment.empty());
}

TEST_F(measuring, a_termination_sent_to_us_reaches_the_program) {
    // The program tells by its own signal that it is ready, through its parent's id.
    const measurement result = run({"sh", "-c", "trap 'exit 9' TERM; kill -TERM $PPID; while :; do :; done"});
    EXPECT_EQ(result.exit_status, 9);
}

int touch(std::size_t mebibytes) {
    const std::size_t bytes = mebibytes << 20;
    if (bytes == 0) return 0;
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--touch") return touch(std::strtoull(argv[2], nullptr, 10));
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
