// SPDX-License-Identifier: BSL-1.0
// word_position: the words at an allocation in which its owner may be found, by position and by name.
//
//   0 … 5    rbx, rbp, r12, r13, r14, r15      registers that the caller of malloc or operator new keeps over the call
//   6 … 30   stack+0, stack+8, … stack+192     words of its stack, from its stack pointer upward
#pragma once

#include <string>

namespace millpond::preload {

class word_position {
  public:
    static constexpr unsigned registers = 6, stack_words = 25, count = registers + stack_words;

    static std::string name(unsigned position) {
        if (position < registers) return names[position];
        return "stack+" + std::to_string((position - registers) * 8);
    }
    // Returns the position of a name, or `count` if it is unknown.
    static unsigned of_name(const std::string& name) {
        for (unsigned position = 0; position < count; ++position)
            if (word_position::name(position) == name) return position;
        return count;
    }

  private:
    static constexpr const char* names[registers] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};
};

}  // namespace millpond::preload
