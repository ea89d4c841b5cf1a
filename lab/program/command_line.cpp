// SPDX-License-Identifier: BSL-1.0
// The only source that includes CLI11, because every source that includes it takes seconds to compile.
#include "lab/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "lab/program/command_option.hpp"
#include "lab/program/option_list.hpp"

namespace millpond::program {

command_option& command_option::value_name(const std::string& name) {
    declared_->type_name(name);
    return *this;
}

command_option& command_option::required() {
    declared_->required();
    return *this;
}

command_option& command_option::excludes(const command_option& other) {
    declared_->excludes(other.declared_);
    return *this;
}

command_option& command_option::shows_default() {
    declared_->capture_default_str();
    return *this;
}

command_option& command_option::within(int least, int most) {
    declared_->check(CLI::Range(least, most));
    return *this;
}

command_option& command_option::within(std::uint64_t least, std::uint64_t most) {
    declared_->check(CLI::Range(least, most));
    return *this;
}

command_option& command_option::within(double least, double most) {
    declared_->check(CLI::Range(least, most));
    return *this;
}

command_option& command_option::positive() {
    declared_->check(CLI::PositiveNumber);
    return *this;
}

command_option& command_option::not_negative() {
    declared_->check(CLI::NonNegativeNumber);
    return *this;
}

command_option& command_option::one_of(const std::vector<std::string>& words) {
    declared_->check(CLI::IsMember(words));
    return *this;
}

command_option& command_option::checked(const std::function<std::string(const std::string&)>& flaw_of,
                                        const std::string& shown) {
    declared_->check(flaw_of, shown);
    return *this;
}

command_option& command_option::in_bytes() {
    declared_->transform(CLI::AsSizeValue(false));
    return *this;
}

command_option& command_option::repeated() {
    declared_->expected(1)->take_all();
    return *this;
}

command_option& command_option::one_argument() {
    declared_->allow_extra_args(false);
    return *this;
}

command_option& command_option::separated_by(char separator) {
    declared_->delimiter(separator);
    return *this;
}

command_option option_list::option(const std::string& names, std::string& value, const std::string& help) {
    return command_option(declared_->add_option(names, value, help));
}

command_option option_list::option(const std::string& names, std::uint16_t& value, const std::string& help) {
    return command_option(declared_->add_option(names, value, help));
}

command_option option_list::option(const std::string& names, std::uint32_t& value, const std::string& help) {
    return command_option(declared_->add_option(names, value, help));
}

command_option option_list::option(const std::string& names, std::uint64_t& value, const std::string& help) {
    return command_option(declared_->add_option(names, value, help));
}

command_option option_list::option(const std::string& names, double& value, const std::string& help) {
    return command_option(declared_->add_option(names, value, help));
}

command_option option_list::option(const std::string& names, std::vector<std::string>& values,
                                   const std::string& help) {
    return command_option(declared_->add_option(names, values, help));
}

command_option option_list::option(const std::string& names, std::vector<double>& values, const std::string& help) {
    return command_option(declared_->add_option(names, values, help));
}

command_option option_list::flag(const std::string& names, bool& given, const std::string& help) {
    return command_option(declared_->add_flag(names, given, help));
}

command_option option_list::flag(const std::string& names, std::string& value, const std::string& help) {
    return command_option(declared_->add_flag(names, value, help));
}

bool option_list::given() const { return declared_->parsed(); }

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
