// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/play_stage.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "lab/measure/measurement.hpp"
#include "lab/measure/start.hpp"
#include "lab/program/aside_file.hpp"
#include "lab/program/json.hpp"
#include "lab/program/program.hpp"

namespace millpond::replay {
namespace {

using program::json;

// The words of the second command line, in this order.
enum word {
    script_word,
    strategy_word,
    malloc_word,
    order_word,
    touch_word,
    diffusion_word,
    pace_word,
    result_word,
    words
};

constexpr const char* paced_value = "recorded";

std::string library_path(const std::string& given) {
    char resolved[PATH_MAX];
    if (::realpath(given.c_str(), resolved) == nullptr || ::access(resolved, R_OK) != 0)
        throw program::failure(program::input,
                               "the malloc library " + given + " cannot be read: " + std::strerror(errno));
    if (std::strpbrk(resolved, " :") != nullptr)
        throw program::failure(
            program::environment,
            std::string(resolved) + ": the dynamic linker takes no path with a space or a colon; copy it");
    return resolved;
}

touch touch_of(const char* name) {
    return std::strcmp(name, "none") == 0 ? touch::none : std::strcmp(name, "check") == 0 ? touch::check : touch::line;
}

// Finds the file whose malloc this process uses, into a buffer, because our code must not call malloc before a round.
// False if it is unknown.
bool find_malloc_provider(char (&resolved)[PATH_MAX]) {
    Dl_info about;
    void* const found = ::dlsym(RTLD_DEFAULT, "malloc");
    return found != nullptr && ::dladdr(found, &about) != 0 && ::realpath(about.dli_fname, resolved) != nullptr;
}

std::string malloc_provider() {
    char resolved[PATH_MAX];
    return find_malloc_provider(resolved) ? resolved : "";
}

bool is_c_library(const std::string& path) { return path.find("/libc.so") != std::string::npos; }

// If preloading fails, the loader only warns, and the round would be another malloc's.
void check_preloaded(const char* library) {
    if (*library == '\0') return;
    char resolved[PATH_MAX];
    if (find_malloc_provider(resolved) && std::strcmp(resolved, library) == 0) return;
    throw program::failure(program::input, std::string(library) + " is not a malloc library for this machine");
}

json number_or_null(const std::optional<std::uint64_t>& value) { return value ? json(*value) : nullptr; }

json to_json(const play_result& result, const char* const* given) {
    const bool timed = result.diffusion.empty();
    json round = program::json_object({{"schema", "millpond.replay.round/1"},
                                       {"strategy", given[strategy_word]},
                                       {"malloc", malloc_provider()},
                                       {"order", given[order_word]},
                                       {"touch", given[touch_word]},
                                       {"paced", std::strcmp(given[pace_word], paced_value) == 0},
                                       {"status", result.why == nullptr ? "ok" : "bad_alloc"},
                                       {"why", result.why == nullptr ? "" : result.why},
                                       {"records", result.records},
                                       {"cpu_seconds", timed ? json(result.cpu_seconds) : nullptr},
                                       {"wall_seconds", timed ? json(result.wall_seconds) : nullptr},
                                       {"peak_bytes", result.peak_bytes},
                                       {"end_bytes", result.end_bytes},
                                       {"page_faults", result.page_faults},
                                       {"peak_live_bytes", result.peak_live_bytes},
                                       {"end_live_bytes", result.end_live_bytes},
                                       {"held_bytes", number_or_null(result.held_bytes)},
                                       {"held_end_bytes", number_or_null(result.held_end_bytes)}});
    if (!result.held_bytes) round["held_why_null"] = "a malloc does not report its peak bytes";
    if (timed) return round;
    round["diffusion"] = json::array();
    for (const diffusion_point& p : result.diffusion)
        round["diffusion"].push_back(program::json_object({{"event_share", p.event_share},
                                                           {"time_seconds", p.time_seconds},
                                                           {"live_bytes", p.live_bytes},
                                                           {"page_bytes", p.page_bytes}}));
    return round;
}

}  // namespace

void start(const stage_request& request) {
    const std::optional<strategy> chosen = strategy_of(request.strategy);
    if (!chosen)
        throw program::failure(program::usage,
                               "unknown strategy " + request.strategy + "; there are: " + strategies_accepted());
    if (request.paced && request.order != "total")
        throw program::failure(program::usage, "--pace is for the total order: there is one clock");
    const std::string library = request.malloc_library.empty() ? "" : library_path(request.malloc_library);
    program::prove_writable(request.result);
    char self[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) throw program::failure(program::environment, "cannot find this program in /proc");
    self[length] = '\0';
    if (!library.empty()) ::setenv("LD_PRELOAD", measure::preload_value(library).c_str(), 1);
    if (request.padding_bytes > 0)
        ::setenv(measure::padding_variable, std::string(request.padding_bytes, 'x').c_str(), 1);
    const std::string diffusion = std::to_string(request.diffusion);
    const std::vector<const char*> arguments{self,
                                             stage_word,
                                             request.script.c_str(),
                                             request.strategy.c_str(),
                                             library.c_str(),
                                             request.order.c_str(),
                                             request.touch.c_str(),
                                             diffusion.c_str(),
                                             request.paced ? paced_value : "",
                                             request.result.c_str(),
                                             nullptr};
    ::execv(self, const_cast<char**>(arguments.data()));
    throw program::failure(program::environment,
                           std::string("cannot start this program again: ") + std::strerror(errno));
}

int run(char** arguments) {
    for (int i = 0; i < words; ++i)
        if (arguments[i] == nullptr)
            throw program::failure(program::usage, "only --play may use this option, to start itself");
    check_preloaded(arguments[malloc_word]);
    play_request request;
    request.of_a_plan = std::strcmp(arguments[strategy_word], "plan") == 0;
    request.script = arguments[script_word];
    request.chosen = strategy_of(arguments[strategy_word]).value_or(strategy::recorded);
    request.in = std::strcmp(arguments[order_word], "dependency") == 0 ? order::dependency : order::total;
    request.touching = touch_of(arguments[touch_word]);
    request.diffusion = static_cast<std::uint32_t>(std::strtoul(arguments[diffusion_word], nullptr, 10));
    request.paced = std::strcmp(arguments[pace_word], paced_value) == 0;
    play_result result = play(request);
    // Everything has been measured; from here on malloc may be called.
    if (request.chosen == strategy::recorded && is_c_library(malloc_provider())) {
        const struct mallinfo2 info = ::mallinfo2();
        result.held_end_bytes = info.arena + info.hblkhd;
    }
    program::write_whole(arguments[result_word], program::json_text(to_json(result, arguments)) + "\n");
    return 0;
}

}  // namespace millpond::replay
