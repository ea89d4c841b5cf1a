// SPDX-License-Identifier: BSL-1.0
// program: the end of every native program: its exit statuses, the failure that carries one, and a guarded main.
//
//   guarded_main(action) ──▶ what the action returns
//                       └─ failure ──▶ "millpond: MESSAGE" on standard error, its status
//                       └─ other exceptions ──▶ the same, status 4
//
// The functions are for main's thread only.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace millpond::program {

// The conductor's Status has the same values.
enum exit_status : int {
    ok = 0,
    gate = 1,         // a bar was missed
    usage = 2,        // a wrong option, an unknown name
    input = 3,        // a file that is missing, damaged or of another build
    environment = 4,  // writing failed, no memory, a missing library
    not_started = 5,  // the measured program does not exist or is not executable
};

// The reason why a program of ours cannot continue. The message is one sentence without "millpond: " in front.
class failure : public std::runtime_error {
  public:
    failure(exit_status why, const std::string& message) : std::runtime_error(message), status(why) {}

    exit_status status;
};

// Prints a line on standard error.
inline void say(const std::string& message) { std::fprintf(stderr, "millpond: %s\n", message.c_str()); }

// The same. Returns `status`.
inline exit_status fail(exit_status status, const std::string& message) {
    say(message);
    return status;
}

// Writes `text` to standard output, at once. Throws failure.
inline void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw failure(environment, "cannot write to standard output");
}

// Returns what `action` returns, or the status of its exception, which is printed.
template <class Action>
int guarded_main(const Action& action) {
    try {
        return action();
    } catch (const failure& error) {
        return fail(error.status, error.what());
    } catch (const std::bad_alloc&) {
        return fail(environment, "out of memory");
    } catch (const std::exception& error) {
        return fail(environment, error.what());
    }
}

}  // namespace millpond::program
