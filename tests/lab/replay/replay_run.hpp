// SPDX-License-Identifier: BSL-1.0
// replay_run: runs millpond-replay as a user would, in a folder of its own, and reads what it wrote.
#pragma once

#include <string>
#include <vector>

#include "lab/measure/measurement.hpp"
#include "lab/program/json.hpp"
#include "tests/lab/trace/recording.hpp"

namespace millpond::test {

class replay_run {
  public:
    using words = std::vector<std::string>;
    using json = program::json;

    struct ended {
        int status;
        std::string message;
    };

    std::string in(const std::string& name) const { return folder_.path(name); }

    ended run(words arguments) const {
        arguments.insert(arguments.begin(), REPLAY_PROGRAM);
        measure::start_options options;
        options.stdin_path = "/dev/null";
        options.stdout_path = in("stdout");
        options.stderr_path = in("stderr");
        const measure::measurement result = measure::measure(arguments[0], arguments, options);
        return {result.signal != 0 ? -result.signal : result.exit_status, read_file(in("stderr"))};
    }

    // Plays a script; null where that failed.
    json play(const std::string& script, words options) const {
        options.insert(options.begin(), {"--play", script, "--result", in("round.json")});
        last = run(options);
        return last.status == 0 ? program::parse_json(read_file(in("round.json"))) : json();
    }

    mutable ended last{0, ""};

  private:
    scratch_folder folder_;
};

}  // namespace millpond::test
