// SPDX-License-Identifier: BSL-1.0
#include "lab/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace millpond::program {

command_line::command_line(const std::string& description, const std::string& name, const std::string& hint)
    : command_line(std::make_unique<CLI::App>(description, name), hint) {}

command_line::command_line(std::unique_ptr<CLI::App> owned, const std::string& hint)
    : option_list(owned.get()), owned_(std::move(owned)), hint_(hint) {}

command_line::~command_line() = default;

option_list command_line::exactly_one(const std::string& name, const std::string& help) {
    CLI::App* const group = declared().add_option_group(name, help);
    group->require_option(1);
    return option_list(group);
}

option_list command_line::verb(const std::string& name, const std::string& help) {
    declared().require_subcommand(1);
    return option_list(declared().add_subcommand(name, help));
}

void command_line::footer(const std::string& text) { declared().footer(text); }

bool command_line::parse(int argc, char** argv) {
    try {
        declared().parse(argc, argv);
        return true;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0) throw refusal(error.what());
        declared().exit(error);
        return false;
    }
}

std::optional<int> command_line::parse_or_explain(int argc, char** argv) {
    try {
        declared().parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return declared().exit(error);
    }
}

failure command_line::refusal(const std::string& why) const { return {usage, why + hint_}; }

}  // namespace millpond::program
