// SPDX-License-Identifier: BSL-1.0
#include "lab/program/command_option.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace millpond::program
