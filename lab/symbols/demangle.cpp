// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/demangle.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace millpond::symbols {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }

std::string hash_of(std::string_view text) {
    std::uint32_t hash = 2166136261u;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", hash);
    return digits;
}

struct not_read {};

// Reads a length and that many bytes.
std::string_view read_word(std::string_view text, std::size_t& at) {
    std::size_t length = 0;
    while (at < text.size() && is_digit(text[at]) && length <= text.size())
        length = length * 10 + static_cast<std::size_t>(text[at++] - '0');
    if (length == 0 || length > text.size() - at) throw not_read{};
    const std::string_view word = text.substr(at, length);
    at += length;
    return word;
}

// Reads the name of an Itanium symbol and leaves out the details of its template arguments.
class long_reader {
  public:
    explicit long_reader(std::string_view text) : text_(text) {}

    std::string run() {
        at_ = 2;
        while (peek() == 'Z') ++at_;  // a local name: the function around it
        const bool is_nested = take('N');
        while (is_nested && std::string_view("rVKRO").find(peek()) != std::string_view::npos) next();
        while (at_ < text_.size() && (!is_nested || peek() != 'E')) {
            if (!read_component()) break;
            if (!is_nested && peek() != 'I' && !is_in_std_) break;
            is_in_std_ = false;
        }
        if (name_.empty() || (is_nested && peek() != 'E')) throw not_read{};
        return name_ + "()";
    }

  private:
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    char next() {
        if (at_ == text_.size()) throw not_read{};
        return text_[at_++];
    }
    bool take(char letter) {
        if (peek() != letter) return false;
        ++at_;
        return true;
    }
    void add(std::string_view word) {
        if (!name_.empty()) name_ += "::";
        name_ += word;
        last_ = word;
    }

    bool read_component() {
        take('L');
        const char letter = peek();
        if (is_digit(letter)) {
            const std::string_view word = read_word(text_, at_);
            add(word.starts_with("_GLOBAL__N") ? std::string_view("(anonymous namespace)") : word);
        } else if (letter == 'B' || letter == 'W') {
            next();
            if (peek() == 'P') next();
            read_word(text_, at_);
        } else if (letter == 'I') {
            name_ += arguments();
        } else if (letter == 'S') {
            read_substitution();
        } else if (letter == 'C' || letter == 'D') {
            next();
            const char kind = next();
            if (!is_digit(kind)) throw not_read{};
            add((letter == 'D' ? "~" : "") + std::string(last_));
        } else if (letter == 'U' && (peek(1) == 'l' || peek(1) == 't')) {
            add("{lambda#1}");
            skip();
        } else if (is_lower(letter) && is_lower(peek(1))) {
            at_ += 2;
            add("operator" + std::string(text_.substr(at_ - 2, 2)));
        } else {
            return false;
        }
        return true;
    }

    void read_substitution() {
        constexpr std::array<std::pair<char, std::string_view>, 7> known{{{'t', "std"},
                                                                          {'a', "std::allocator"},
                                                                          {'b', "std::basic_string"},
                                                                          {'s', "std::string"},
                                                                          {'i', "std::istream"},
                                                                          {'o', "std::ostream"},
                                                                          {'d', "std::iostream"}}};
        const char kind = peek(1);
        for (const auto& [letter, word] : known) {
            if (kind != letter) continue;
            at_ += 2;
            add(word);
            is_in_std_ = kind == 't';
            return;
        }
        skip();
        add("…");
    }

    // Returns "<first, …, last #HASH>" for the identifiers in template arguments.
    std::string arguments() {
        const std::size_t first = at_;
        words_.clear();
        skip();
        std::string text = "<";
        if (!words_.empty()) text += std::string(words_.front());
        if (words_.size() > 1) text += " … " + std::string(words_.back());
        return text + " #" + hash_of(text_.substr(first, at_ - first)) + ">";
    }

    void skip_until_end(bool expression) {
        while (!take('E')) expression ? skip_expression() : skip();
    }

    void skip_number() {
        while (is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) next();
        take('_');
    }

    // Skips one token of types and names, with everything that it encloses.
    void skip() {
        if (++depth_ > 500) throw not_read{};
        const char letter = peek();
        if (is_digit(letter)) {
            words_.push_back(read_word(text_, at_));
        } else {
            next();
            if (std::string_view("IJNFZ").find(letter) != std::string_view::npos) {
                skip_until_end(false);
            } else if (letter == 'X') {
                skip_until_end(true);
            } else if (letter == 'L') {
                skip_literal();
            } else if (letter == 'S' || letter == 'T') {
                is_lower(peek()) ? void(next()) : skip_number();
            } else if (letter == 'A') {
                skip_number();
            } else if (letter == 'D') {
                const char kind = next();
                if (kind == 't' || kind == 'T') skip_until_end(true);
                if (kind == 'v') skip_number();
            } else if (letter == 'U' && (peek() == 'l' || peek() == 't')) {
                if (next() == 'l') skip_until_end(false);
                skip_number();
            } else if (letter == '_') {
                while (is_digit(peek())) next();
            }
        }
        --depth_;
    }

    void skip_literal() {
        if (text_.substr(at_, 2) == "_Z") {
            at_ += 2;
            skip_until_end(false);
            return;
        }
        do {  // a type: qualifiers and pointers, then the type they apply to
        } while (std::string_view("PROKV").find(peek()) != std::string_view::npos && next() != '\0');
        skip();
        const std::size_t end = text_.find('E', at_);
        if (end == std::string_view::npos) throw not_read{};
        at_ = end + 1;
    }

    void skip_expression() {
        const std::string_view word = text_.substr(at_, 2);
        constexpr std::array lists{std::string_view{"cl"}, std::string_view{"il"}, std::string_view{"tl"},
                                   std::string_view{"cp"}};
        if (word == "fp" || word == "fL") {
            at_ += 2;
            while (take('r') || take('V') || take('K')) {
            }
            skip_number();
            if (word == "fL" && take('p')) skip_number();
        } else if (std::find(lists.begin(), lists.end(), word) != lists.end()) {
            at_ += 2;
            skip_until_end(true);
        } else if (word.size() == 2 && is_lower(word[0]) && (is_lower(word[1]) || is_digit(word[1]) == false)) {
            at_ += is_lower(word[1]) || word[1] == 'Z' ? 2 : 1;
        } else {
            skip();
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool is_in_std_ = false;
    std::string name_, last_;
    std::vector<std::string_view> words_;
};

std::string demangled_by_library(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? std::string(text.get()) : std::string();
}

// Removes the modules that names are attached to, such as "W4shopW6orders".
std::string without_attachments(std::string_view symbol) {
    std::string plain;
    for (std::size_t at = 0; at < symbol.size();) {
        const std::size_t first = at;
        const bool is_module = symbol[at] == 'W';
        if (is_module) ++at;
        if (is_module && at < symbol.size() && symbol[at] == 'P') ++at;
        try {
            if (at < symbol.size() && is_digit(symbol[at])) {
                read_word(symbol, at);
                if (!is_module) plain += symbol.substr(first, at - first);
                continue;
            }
        } catch (const not_read&) {  // a number that is not a length
        }
        at = first + 1;
        plain += symbol[first];
    }
    return plain;
}

bool has_back_reference(std::string_view symbol) {
    for (std::size_t at = symbol.find('S'); at + 1 < symbol.size(); at = symbol.find('S', at + 1)) {
        if (is_digit(symbol[at + 1]) || symbol[at + 1] == '_') return true;
    }
    return false;
}

// Reads _D: lengths and identifiers, then the type of the function. A template instance keeps only its identifier.
std::optional<dotted_name> read_d(std::string_view symbol) {
    if (symbol == "_Dmain") return dotted_name{{"D main"}, false, false};
    if (!symbol.starts_with("_D") || symbol.size() < 4 || !is_digit(symbol[2])) return std::nullopt;
    dotted_name name;
    std::size_t at = 2;
    while (at < symbol.size() && (is_digit(symbol[at]) || symbol.substr(at, 3) == "__T")) {
        if (!is_digit(symbol[at])) return std::nullopt;
        std::string_view word = read_word(symbol, at);
        if (word.starts_with("__T") || word.starts_with("__U")) {
            std::size_t inner = 3;
            word = read_word(word, inner);
        }
        name.parts.emplace_back(word == "__ctor" ? "this" : word == "__dtor" ? "~this" : word);
    }
    if (at == symbol.size() || name.parts.size() < 2) return std::nullopt;  // no type follows: a C name
    name.is_member = symbol[at] == 'M';
    const std::string& package = name.parts.front();
    name.standard = package == "std" || package == "core" || package == "object" || package == "rt" ||
                    package == "gcc" || package == "etc" || package == "ldc";
    return name;
}

// Reads $s: the module, types with a letter for their kind, the function.
std::optional<dotted_name> read_swift(std::string_view symbol) {
    if (symbol.starts_with("_$")) symbol.remove_prefix(1);
    if (!symbol.starts_with("$s") && !symbol.starts_with("$S")) return std::nullopt;
    symbol.remove_prefix(2);
    dotted_name name;
    std::size_t at = 0;
    if (symbol.starts_with('s') || (symbol.starts_with('S') && symbol.size() > 1 && is_lower(symbol[1]))) {
        name.parts.emplace_back("Swift");
        name.standard = true;
        at = symbol[0] == 's' ? 1 : 2;
    }
    while (at < symbol.size() && symbol[at] >= '1' && symbol[at] <= '9') {
        name.parts.emplace_back(read_word(symbol, at));
        name.is_member = false;
        if (at + 1 < symbol.size() && std::string_view("CVOP").find(symbol[at]) != std::string_view::npos &&
            is_digit(symbol[at + 1])) {
            ++at;
            name.is_member = true;
        }
    }
    if (name.parts.size() < 2) return std::nullopt;
    name.is_member = name.parts.size() > 2;
    name.standard = name.standard || name.parts.front() == "Foundation" || name.parts.front().starts_with("_");
    return name;
}

}  // namespace

std::string demangled_long(std::string_view symbol) {
    try {
        return symbol.starts_with("_Z") ? long_reader(symbol).run() : std::string();
    } catch (const not_read&) {
        return {};
    }
}

std::string demangled(std::string_view symbol) {
    if (!symbol.starts_with("_Z")) return {};
    if (std::string name = demangled_by_library(std::string(symbol)); !name.empty()) return name;
    if (const std::string plain = without_attachments(symbol); plain != symbol) {
        // Back references also count modules. Without back references, the rest is the symbol of a program without
        // modules.
        std::string name = has_back_reference(plain) ? std::string() : demangled_by_library(plain);
        return name.empty() ? demangled_long(plain) : name;
    }
    constexpr std::size_t library_bytes_max = 1000;  // the library refuses symbols a little longer than this
    return symbol.size() > library_bytes_max ? demangled_long(symbol) : std::string();
}

std::optional<dotted_name> read_dotted_symbol(std::string_view symbol) {
    try {
        auto name = read_d(symbol);
        return name ? name : read_swift(symbol);
    } catch (const not_read&) {
        return std::nullopt;
    }
}

std::string cut_name(std::string_view name) {
    if (name.size() <= name_bytes_max) return std::string(name);
    constexpr std::size_t kept_bytes = name_bytes_max - 18;
    const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
    std::size_t first = kept_bytes / 2, last = name.size() - kept_bytes / 2;
    for (int i = 0; i < 3 && continues(first); ++i) --first;
    for (int i = 0; i < 3 && last < name.size() && continues(last); ++i) ++last;
    return std::string(name.substr(0, first)) + " … " + std::string(name.substr(last)) + " #" + hash_of(name);
}

}  // namespace millpond::symbols
