// SPDX-License-Identifier: BSL-1.0
// option_list: declares options of a command line (command_line.hpp), of one of its verbs, or of one of its groups.
//
// A handle, as cheap as a pointer; valid as long as its command_line. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/program/command_option.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's, which is expensive to include
class App;
}

namespace millpond::program {

class option_list {
  public:
    explicit option_list(CLI::App* declared) noexcept : declared_(declared) {}

    // `names`: "-o,--output", or a word without dashes for a positional argument. The variable keeps its value if the
    // option is not given; it must live until the line was parsed.
    command_option option(const std::string& names, std::string& value, const std::string& help = {});
    command_option option(const std::string& names, std::uint16_t& value, const std::string& help = {});
    command_option option(const std::string& names, std::uint32_t& value, const std::string& help = {});
    command_option option(const std::string& names, std::uint64_t& value, const std::string& help = {});
    command_option option(const std::string& names, double& value, const std::string& help = {});
    command_option option(const std::string& names, std::vector<std::string>& values, const std::string& help = {});
    command_option option(const std::string& names, std::vector<double>& values, const std::string& help = {});

    // An option without a value.
    command_option flag(const std::string& names, bool& given, const std::string& help = {});
    // "--name{word}": `value` becomes `word` for --name, and the text behind = for --name=….
    command_option flag(const std::string& names, std::string& value, const std::string& help = {});

    // For a verb, after parsing: returns whether it was given.
    [[nodiscard]] bool given() const;

  protected:
    [[nodiscard]] CLI::App& declared() const noexcept { return *declared_; }

  private:
    CLI::App* declared_;
};

}  // namespace millpond::program
