// SPDX-License-Identifier: BSL-1.0
// command_line: the command line of a native program: its options, verbs and help; and its guarded_main.
//
//   command_line line("Counts words.");
//   line.option("--least", least, "of so many letters").value_name("N");
//   line.option("file", path, "the text").required();
//   return guarded_main(line, argc, argv, [&] { return count(path, least); });
//
// CLI11 parses it, which only command_line.cpp includes: it takes seconds of the compiler. Programs whose heap
// events are counted have lab/suites/recording/command_line.hpp. Linear in options times arguments. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lab/program/option_list.hpp"
#include "lab/program/program.hpp"

namespace millpond::program {

class command_line : public option_list {
  public:
    // `name`: the program's name in --help; empty: as it was started. `hint` follows the message of every refusal.
    explicit command_line(const std::string& description, const std::string& name = {}, const std::string& hint = {});
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    // A group of options of which exactly one must be given.
    option_list exactly_one(const std::string& name, const std::string& help);
    // A first word with options of its own. If there are verbs, exactly one must be given.
    option_list verb(const std::string& name, const std::string& help);
    // Text at the end of --help.
    void footer(const std::string& text);

    // Returns false if --help was given and printed. Throws failure (usage) for a wrong line.
    bool parse(int argc, char** argv);
    // The same with CLI11's own statuses and hint on standard error, for programs outside of the laboratory. Returns
    // the status with which the program ends here; null if it continues.
    std::optional<int> parse_or_explain(int argc, char** argv);
    // A failure (usage) with the hint.
    [[nodiscard]] failure refusal(const std::string& why) const;

  private:
    command_line(std::unique_ptr<CLI::App> owned, const std::string& hint);

    std::unique_ptr<CLI::App> owned_;
    std::string hint_;
};

// Parses, then returns what `action` returns. A wrong line ends with status 2; --help with 0.
template <class Action>
int guarded_main(command_line& line, int argc, char** argv, const Action& action) {
    return guarded_main([&]() -> int { return line.parse(argc, argv) ? static_cast<int>(action()) : ok; });
}

}  // namespace millpond::program
