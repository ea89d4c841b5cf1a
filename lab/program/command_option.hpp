// SPDX-License-Identifier: BSL-1.0
// command_option: adds properties to a declared option of a command line.
//
//   line.option("--blocks", blocks, "the number of blocks").value_name("N").within(1, 1000);
//
// A handle, as cheap as a pointer; valid as long as its command_line. Every function returns the option, so that calls
// follow one another. A value that does not pass its checks ends the program with the sentence of the check and status
// 2 (guarded_main). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's, which is expensive to include
class Option;
}

namespace millpond::program {

class command_option {
  public:
    explicit command_option(CLI::Option* declared) noexcept : declared_(declared) {}

    // The name of the value in --help; empty: no name.
    command_option& value_name(const std::string& name);
    command_option& required();
    // The option may not be given together with `other`.
    command_option& excludes(const command_option& other);
    // --help shows the value that its variable has now.
    command_option& shows_default();

    // Ends inclusive.
    command_option& within(int least, int most);
    command_option& within(std::uint64_t least, std::uint64_t most);
    command_option& within(double least, double most);
    command_option& positive();
    command_option& not_negative();
    command_option& one_of(const std::vector<std::string>& words);
    // `flaw_of` returns the error in a value, or an empty text. --help shows `shown` in place of the type.
    command_option& checked(const std::function<std::string(const std::string&)>& flaw_of,
                            const std::string& shown = {});
    // A number of bytes, which may have a unit: 500MB.
    command_option& in_bytes();

    // For an option with several values: each use of it takes one value, and it may be used again.
    command_option& repeated();
    // For an option with several values: takes no further arguments after its value.
    command_option& one_argument();
    // For an option with several values: one argument holds several, with `separator` between them.
    command_option& separated_by(char separator);

  private:
    CLI::Option* declared_;
};

}  // namespace millpond::program
