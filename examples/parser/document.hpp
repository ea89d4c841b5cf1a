// SPDX-License-Identifier: BSL-1.0
// The documents that both forms of parser read, such as {"name of some length":[1,2,{"other":3}],…}
#pragma once

#include <string>
#include <vector>

#include "../common/command_line.hpp"

namespace parser {

class document_writer {
  public:
    explicit document_writer(std::uint64_t seed) : chance_(seed) {}

    // Returns: a document of 500 entries, of which a few differ from the previous one.
    const std::string& next() {
        if (entries_.empty()) {
            for (int i = 0; i < 500; ++i) entries_.push_back(entry());
        }
        for (int i = 0; i < 5; ++i) entries_[chance_.below(500)] = entry();
        text_ = "{";
        for (const std::string& one : entries_) text_ += one + ',';
        text_.back() = '}';
        return text_;
    }

  private:
    std::string entry() {
        std::string made = name() + '[';
        for (std::uint32_t left = 1 + chance_.below(4); left > 0; --left) {
            made += '{' + name() + std::to_string(chance_.below(100'000)) + ',' + name() + "[1,";
            made += std::to_string(chance_.below(100)) + "]},";
        }
        made.back() = ']';
        return made;
    }
    std::string name() { return '"' + std::string(5 + chance_.below(30), 'n') + "\":"; }

    examples::dice chance_;
    std::vector<std::string> entries_;
    std::string text_;
};

}  // namespace parser
