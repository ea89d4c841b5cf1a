// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/demangled_name.hpp"

#include <array>
#include <cctype>

namespace millpond::symbols {
namespace {

constexpr std::string_view anonymous = "(anonymous namespace)";

// Among operators with a common beginning, the longest comes first.
constexpr std::array operators{
    std::string_view{"<=>"}, std::string_view{"<<="}, std::string_view{">>="}, std::string_view{"->*"},
    std::string_view{"()"},  std::string_view{"[]"},  std::string_view{"<<"},  std::string_view{">>"},
    std::string_view{"<="},  std::string_view{">="},  std::string_view{"=="},  std::string_view{"!="},
    std::string_view{"&&"},  std::string_view{"||"},  std::string_view{"++"},  std::string_view{"--"},
    std::string_view{"->"},  std::string_view{"+="},  std::string_view{"-="},  std::string_view{"*="},
    std::string_view{"/="},  std::string_view{"%="},  std::string_view{"&="},  std::string_view{"|="},
    std::string_view{"^="},  std::string_view{"<"},   std::string_view{">"},   std::string_view{"="},
    std::string_view{"+"},   std::string_view{"-"},   std::string_view{"*"},   std::string_view{"/"},
    std::string_view{"%"},   std::string_view{"&"},   std::string_view{"|"},   std::string_view{"^"},
    std::string_view{"~"},   std::string_view{"!"},   std::string_view{","}};

// Template arguments that are defaults in the library's own templates; dropped unless they come first.
constexpr std::array defaulted{std::string_view{"std::allocator<"}, std::string_view{"std::char_traits<"},
                               std::string_view{"std::less<"},      std::string_view{"std::hash<"},
                               std::string_view{"std::equal_to<"},  std::string_view{"std::default_delete<"},
                               std::string_view{"std::deque<"}};

bool is_identifier(char letter) noexcept {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '$';
}

bool starts_word(std::string_view text, std::size_t at, std::string_view word) noexcept {
    if (at > text.size() || text.substr(at, word.size()) != word) return false;
    if (at > 0 && is_identifier(text[at - 1])) return false;
    return at + word.size() == text.size() || !is_identifier(text[at + word.size()]);
}

// Skips "@shop.orders", the module that a name is attached to: a program without modules has the same names.
std::size_t skip_attachment(std::string_view text, std::size_t at) noexcept {
    ++at;
    while (at < text.size() && (is_identifier(text[at]) || text[at] == '.')) ++at;
    return at;
}

// Skips the operator's symbol, which follows the word `operator` that ends at `at`; returns `at` itself for a
// conversion operator.
std::size_t skip_operator_symbol(std::string_view text, std::size_t at) noexcept {
    for (const std::string_view symbol : operators) {
        if (text.substr(at, symbol.size()) == symbol) return at + symbol.size();
    }
    return at;
}

bool is_defaulted(std::string_view argument) noexcept {
    if (argument == "std::less<void>" || argument == "std::equal_to<void>") return false;  // chosen, to compare keys
    for (const std::string_view prefix : defaulted) {
        if (argument.substr(0, prefix.size()) == prefix) return true;
    }
    return false;
}

std::string tidy_arguments(std::string_view bracketed, std::string_view of) {
    std::vector<std::string> arguments;
    for (const std::string_view argument : split_arguments(bracketed)) arguments.push_back(tidy_type(argument));
    // std::stack and std::queue default to a deque; elsewhere a deque is the program's choice.
    const bool adaptor = of.ends_with("stack") || of.ends_with("queue");
    while (arguments.size() > 1 && is_defaulted(arguments.back()) &&
           (adaptor || !arguments.back().starts_with("std::deque<"))) {
        arguments.pop_back();
    }
    std::string joined = "<";
    for (std::size_t i = 0; i < arguments.size(); ++i) joined += (i ? ", " : "") + arguments[i];
    return joined + ">";
}

void abbreviate_strings(std::string& type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> known{{
        {"std::basic_string<char>", "std::string"},
        {"std::basic_string<wchar_t>", "std::wstring"},
        {"std::basic_string_view<char>", "std::string_view"},
        {"std::basic_ostream<char>", "std::ostream"},
    }};
    for (const auto& [longer, shorter] : known) {
        for (std::size_t at = type.find(longer); at != std::string::npos; at = type.find(longer, at + 1)) {
            type.replace(at, longer.size(), shorter);
        }
    }
}

// Reads one qualified name from left to right; see split_demangled.
class splitter {
  public:
    explicit splitter(std::string_view text) : text_(text) {}

    std::vector<name_part> run() {
        while (at_ < text_.size() && !done_) step();
        finish_part(false);
        return std::move(parts_);
    }

  private:
    void step() {
        const char letter = text_[at_];
        if (text_.substr(at_, anonymous.size()) == anonymous) {
            at_ += anonymous.size();
            if (text_.substr(at_, 2) == "::") at_ += 2;
        } else if (current_.name.empty() && starts_word(text_, at_, "operator")) {
            read_operator();
        } else if (letter == '<') {
            const std::size_t end = skip_brackets(text_, at_);
            current_.arguments = tidy_arguments(text_.substr(at_, end - at_), current_.name);
            at_ = end;
        } else if (letter == '(') {
            read_parenthesis();
        } else if (letter == '{') {
            read_brace();
        } else if (letter == '[') {
            at_ = skip_brackets(text_, at_);  // an ABI tag
        } else if (letter == '@') {
            at_ = skip_attachment(text_, at_);
        } else if (text_.substr(at_, 2) == "::") {
            finish_part(false);
            at_ += 2;
        } else if (letter == ' ') {
            ++at_;
            parts_.clear();  // the text before was a return type
            current_ = {};
        } else {
            current_.name += letter;
            ++at_;
        }
    }

    void read_operator() {
        current_.name = "operator";
        at_ += current_.name.size();
        const std::size_t end = skip_operator_symbol(text_, at_);
        if (end != at_) {
            current_.name += text_.substr(at_, end - at_);
            at_ = end;
            // `operator< <int>` is written with a space before its template arguments.
            if (text_.substr(at_, 2) == " <") ++at_;
            return;
        }
        // A conversion, new, delete, a literal or co_await: takes all up to the parameters.
        std::size_t stop = at_;
        while (stop < text_.size() && text_[stop] != '(') {
            stop = text_[stop] == '<' || text_[stop] == '[' ? skip_brackets(text_, stop) : stop + 1;
        }
        std::string target = tidy_type(text_.substr(at_, stop - at_));
        const std::size_t arguments = target.find('<');
        // new and delete have their own template arguments; those of a conversion belong to its type.
        if (starts_word(target, 1, "new") || starts_word(target, 1, "delete")) target = target.substr(0, arguments);
        current_.name += target;
        at_ = stop;
    }

    void read_parenthesis() {
        const std::size_t end = skip_brackets(text_, at_);
        if (current_.name == "decltype") {  // decltype(auto), a return type
            at_ = end;
        } else if (current_.name.empty() && parts_.empty()) {
            const std::size_t declarator = text_.find_first_not_of("*& ", at_ + 1);
            const bool pointer = declarator != std::string_view::npos && declarator > at_ + 1;
            if (pointer) {  // a function that returns a pointer to function: its name stands inside
                text_ = text_.substr(0, end - 1);
                at_ = declarator;
            } else {
                at_ = end;
            }
        } else {
            finish_part(true);
            at_ = end;
            skip_qualifiers();
            if (text_.substr(at_, 2) == "::")
                at_ += 2;
            else
                done_ = true;
        }
    }

    // Reads {lambda(int)#1}, {unnamed type#2}, {default arg#1}: kept without parameters.
    void read_brace() {
        const std::size_t end = skip_brackets(text_, at_);
        const std::string_view braced = text_.substr(at_, end - at_);
        const std::size_t number = braced.rfind('#');
        const std::size_t word = braced.find_first_of("( #}");
        current_.name += braced.substr(0, word);
        if (number != std::string_view::npos)
            current_.name += braced.substr(number);
        else
            current_.name += '}';
        at_ = end;
    }

    void skip_qualifiers() {
        constexpr std::array words{std::string_view{" const"},    std::string_view{" volatile"},
                                   std::string_view{" noexcept"}, std::string_view{" &&"},
                                   std::string_view{" &"},        std::string_view{"&&"},
                                   std::string_view{"&"}};
        for (bool found = true; found;) {
            found = false;
            for (const std::string_view word : words) {
                if (text_.substr(at_, word.size()) != word) continue;
                at_ += word.size();
                found = true;
            }
            if (at_ < text_.size() && text_[at_] == '[') {
                at_ = skip_brackets(text_, at_);
                found = true;
            }
        }
    }

    void finish_part(bool is_function) {
        if (!current_.name.empty()) {
            current_.is_function = is_function;
            parts_.push_back(std::move(current_));
        }
        current_ = {};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool done_ = false;
    name_part current_{};
    std::vector<name_part> parts_;
};

}  // namespace

std::size_t skip_brackets(std::string_view text, std::size_t at) noexcept {
    // The depth of nesting is bounded: deeper names are of no use to a reader.
    std::array<char, 256> open;
    std::size_t depth = 0;
    for (; at < text.size(); ++at) {
        const char letter = text[at];
        if (letter == 'o' && starts_word(text, at, "operator")) {
            at = skip_operator_symbol(text, at + 8) - 1;
            continue;
        }
        if (letter == '<' || letter == '(' || letter == '[' || letter == '{') {
            if (depth == open.size()) return text.size();
            open[depth++] = letter;
            continue;
        }
        if (letter == '>') {
            // Not a bracket: an arrow, or a comparison inside parentheses.
            if (text[at - 1] == '-' || open[depth - 1] != '<') continue;
            --depth;
        } else if (letter == ')' || letter == ']' || letter == '}') {
            const char opener = letter == ')' ? '(' : letter == ']' ? '[' : '{';
            while (depth > 0 && open[depth - 1] != opener) --depth;  // `<` that were comparisons
            if (depth > 0) --depth;
        }
        if (depth == 0) return at + 1;
    }
    return text.size();
}

std::vector<std::string_view> split_arguments(std::string_view bracketed) {
    std::vector<std::string_view> arguments;
    if (bracketed.size() < 2) return arguments;
    const std::string_view inside = bracketed.substr(1, bracketed.size() - (bracketed.back() == '>' ? 2 : 1));
    std::size_t first = 0;
    const auto add = [&](std::size_t past) {
        std::string_view argument = inside.substr(first, past - first);
        while (!argument.empty() && argument.front() == ' ') argument.remove_prefix(1);
        while (!argument.empty() && argument.back() == ' ') argument.remove_suffix(1);
        if (!argument.empty()) arguments.push_back(argument);
    };
    for (std::size_t at = 0; at < inside.size();) {
        const char letter = inside[at];
        if (letter == '<' || letter == '(' || letter == '[' || letter == '{') {
            at = skip_brackets(inside, at);
        } else {
            if (letter == ',') {
                add(at);
                first = at + 1;
            }
            ++at;
        }
    }
    add(inside.size());
    return arguments;
}

std::string tidy_type(std::string_view type) {
    std::string tidy;
    for (std::size_t at = 0; at < type.size();) {
        const char letter = type[at];
        if (type.substr(at, anonymous.size()) == anonymous) {
            at += anonymous.size();
            if (type.substr(at, 2) == "::") at += 2;
        } else if (letter == '<' && at > 0 && is_identifier(type[at - 1])) {
            const std::size_t end = skip_brackets(type, at);
            tidy += tidy_arguments(type.substr(at, end - at), tidy);
            at = end;
        } else if (type.substr(at, 5) == "[abi:") {
            at = skip_brackets(type, at);
        } else if (letter == '@') {
            at = skip_attachment(type, at);
        } else if (type.substr(at, 9) == "__cxx11::" && tidy.ends_with("std::")) {
            at += 9;
        } else if (type.substr(at, 5) == "__1::" && tidy.ends_with("std::")) {
            at += 5;
        } else {
            tidy += letter;
            ++at;
        }
    }
    abbreviate_strings(tidy);
    return tidy;
}

std::vector<name_part> split_demangled(std::string_view demangled) { return splitter(demangled).run(); }

}  // namespace millpond::symbols
