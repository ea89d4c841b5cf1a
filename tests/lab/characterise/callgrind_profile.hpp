// SPDX-License-Identifier: BSL-1.0
// callgrind_profile: the instructions of chosen functions, including their callees, and of the whole program.
#pragma once

#include <fstream>
#include <map>
#include <string>

namespace millpond::test {

struct instructions {
    double allocator = 0, all = 0;
};

// Returns the instructions of functions whose names `is_operation` accepts, counting only calls from other functions,
// and of the whole program.
template <class IsOperation>
instructions counted_in(const std::string& profile, const IsOperation& is_operation) {
    instructions found;
    std::map<std::string, std::string> names;  // callgrind writes a number, and the first time its name
    std::string caller, callee, line;
    bool follows_call = false;
    for (std::ifstream lines(profile); std::getline(lines, line);) {
        const bool is_callee = line.starts_with("cfn=");
        if (is_callee || line.starts_with("fn=")) {
            const std::size_t at = line.find('='), end = line.find(' ');
            std::string& number = is_callee ? callee : caller;
            number = line.substr(at + 1, end == std::string::npos ? end : end - at - 1);
            if (end != std::string::npos) names[number] = line.substr(end + 1);
        } else if (line.starts_with("calls=")) {
            follows_call = true;
        } else if (line.starts_with("summary:") || line.starts_with("totals:")) {
            found.all = std::stod(line.substr(line.find(':') + 1));
        } else if (follows_call) {
            follows_call = false;
            if (is_operation(names[callee]) && !is_operation(names[caller]))
                found.allocator += std::stod(line.substr(line.find(' ')));
        }
    }
    return found;
}

}  // namespace millpond::test
