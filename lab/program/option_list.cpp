// SPDX-License-Identifier: BSL-1.0
#include "lab/program/option_list.hpp"

#include <CLI/CLI.hpp>

namespace millpond::program {

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

}  // namespace millpond::program
