// SPDX-License-Identifier: BSL-1.0
#include "lab/references/capture.hpp"

#include <errno.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "lab/measure/preload_check.hpp"
#include "lab/measure/signal_relay.hpp"
#include "lab/measure/start.hpp"
#include "lab/program/program.hpp"
#include "lab/references/program_check.hpp"
#include "lab/references/script_check.hpp"
#include "lab/trace/trace_set.hpp"

namespace millpond::references {

namespace {

namespace fs = std::filesystem;

// The version for which the tool was written: its headers and archives come from that package.
constexpr char valgrind_version[] = MILLPOND_VALGRIND_VERSION;

[[noreturn]] void refuse(const std::string& why) {
    throw program::failure(program::environment, why + "; install the package valgrind in version " +
                                                     std::string(valgrind_version) +
                                                     (MILLPOND_HAS_REFERENCE_TOOL ? "" : " and build Millpond again"));
}

fs::path tool_folder() {
    return (fs::read_symlink("/proc/self/exe").parent_path() / "../lib/millpond/valgrind").lexically_normal();
}

std::string find_valgrind() {
    try {
        return measure::find_program("valgrind");
    } catch (const program::failure& missing) {
        refuse("references are captured with Valgrind, which is not installed");
    }
}

// Returns the first line of `valgrind --version`, without "valgrind-".
std::string version_of(const std::string& valgrind) {
    const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(("'" + valgrind + "' --version").c_str(), "r"), &pclose);
    std::array<char, 128> line{};
    if (output == nullptr || std::fgets(line.data(), line.size(), output.get()) == nullptr) return "unknown";
    std::string text = line.data();
    text.erase(text.find_last_not_of(" \n") + 1);
    constexpr std::string_view name = "valgrind-";
    return text.starts_with(name) ? text.substr(name.size()) : text;
}

std::uint64_t random_number() {
    std::uint64_t number = 0;
    while (number == 0)
        if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
    return number >> 2;  // Valgrind's options are signed
}

std::string player_file() { return (tool_folder() / "millpond-player.bin").string(); }

// Limit on the threads that a program may have at a time. Valgrind takes some MB for each live one.
constexpr const char* threads_max = "4000";

// Returns the size that the stack limit grants; without a limit, Valgrind's default of 16 MB.
std::uint64_t stack_bytes() {
    constexpr rlim_t least = 1 << 20, most = 1 << 30;
    rlimit limit{};
    return getrlimit(RLIMIT_STACK, &limit) != 0 ? 8 * least : std::clamp(limit.rlim_cur, least, most);
}

std::vector<std::string> arguments_of(const capture_options& options, int channel, const std::string& window) {
    std::vector<std::string> arguments = {
        "valgrind", "-q", "--tool=millpond", "--trace-children=yes", "--vgdb=no", "--sigill-diagnostics=no"};
    const auto add = [&](const char* name, const std::string& value) {
        arguments.push_back(std::string("--") + name + "=" + value);
    };
    add("recording", std::to_string(random_number()));
    add("max-threads", threads_max);
    add("main-stacksize", std::to_string(stack_bytes()));
    add("channel", std::to_string(channel));
    add(options.discards ? "discard" : "capture", "yes");
    if (options.from != 0) add("from", std::to_string(options.from));
    if (options.instructions != 0) add("instructions", std::to_string(options.instructions));
    if (!options.sample.empty()) add("sample", options.sample);
    for (const std::string& simulator : options.simulators) add("simulate", simulator);
    if (options.access_bytes_max != 0) add("bytes-max", std::to_string(options.access_bytes_max));
    if (options.with_system) add("with-system", "yes");
    if (options.skips_start) add("skip-start", "yes");
    if (!window.empty()) add("window", window);
    if (!options.calls.empty()) {
        add("player", player_file());
        add("play", fs::absolute(options.calls).string());
    }
    arguments.insert(arguments.end(), options.command.begin(), options.command.end());
    return arguments;
}

void check_output(const std::string& file) {
    if (fs::is_directory(file))
        throw program::failure(program::environment, file + " is a directory; name a file for the trace");
    const fs::path folder = fs::absolute(file).parent_path();
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        throw program::failure(program::environment, "cannot write the trace to " + file +
                                                         ": its folder cannot be written; choose another with -o");
    if (!trace::numbered_siblings(partial_stem(file)).empty())
        throw program::failure(program::environment,
                               partial_stem(file) +
                                   ".* exist: another capture writes there or was interrupted; complete it with "
                                   "'millpond trace record --finish " +
                                   file + "', or remove them");
}

void require_readable(const std::string& library) {
    if (access(library.c_str(), R_OK) != 0) throw program::failure(program::input, library + " cannot be read");
}

}  // namespace

void check_valgrind() {
    const std::string version = version_of(find_valgrind());
    if (version != valgrind_version) refuse("the Valgrind that is installed has version " + version);
    if (!fs::exists(tool_folder() / "millpond-amd64-linux"))
        refuse("the capturing tool was not built, because Valgrind's headers or archives were missing");
}

captured_run run(const capture_options& options) {
    captured_run result;
    check_valgrind();
    const std::string program = measure::find_program(options.command.front());
    check_program(program);
    if (!options.window.empty()) result.window = check_window(program, options.window);
    if (!options.discards) check_output(options.file);
    capture_writer writer(options.discards ? std::string() : partial_stem(options.file));
    measure::start_options start_options;
    start_options.dies_with_caller = options.dies_with_capture;
    start_options.environment = {{"VALGRIND_LIB", tool_folder().string()}, {"VALGRIND_OPTS", std::nullopt}};
    std::string started = find_valgrind();
    if (!options.calls.empty()) {
        require_readable(player_file());
        check_call_script(options.calls);
    }
    if (!options.preload.empty()) {
        require_readable(options.preload);
        // The launcher is also a program and would be preloaded; the tool is static.
        start_options.environment.push_back({"VALGRIND_LAUNCHER", started});
        start_options.environment.push_back({"LD_PRELOAD", measure::preload_value(options.preload)});
        started = (tool_folder() / "millpond-amd64-linux").string();
    }
    const measure::signal_relay relay;
    const pid_t child =
        measure::start(started, arguments_of(options, writer.descriptor(), result.window), start_options);
    writer.inherited();
    measure::signal_relay::started(child);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const auto pid = static_cast<std::uint64_t>(child);
    result.end = WIFSIGNALED(status) ? program_end{pid, 0, WTERMSIG(status)} : program_end{pid, WEXITSTATUS(status), 0};
    result.report = writer.settle();
    return result;
}

}  // namespace millpond::references
