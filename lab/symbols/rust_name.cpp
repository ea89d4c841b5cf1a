// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/rust_name.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace millpond::symbols {
namespace {

constexpr int nesting_max = 200;
constexpr int steps_max = 20'000;
constexpr std::size_t text_max = 1 << 16;

struct damaged_symbol {};

bool is_standard_crate(std::string_view crate) noexcept {
    constexpr std::array crates{
        std::string_view{"std"},         std::string_view{"core"},       std::string_view{"alloc"},
        std::string_view{"hashbrown"},   std::string_view{"proc_macro"}, std::string_view{"test"},
        std::string_view{"std_detect"},  std::string_view{"unwind"},     std::string_view{"panic_unwind"},
        std::string_view{"panic_abort"}, std::string_view{"backtrace"},  std::string_view{"gimli"},
        std::string_view{"addr2line"},   std::string_view{"object"},     std::string_view{"miniz_oxide"},
        std::string_view{"adler"},       std::string_view{"adler2"},     std::string_view{"rustc_demangle"},
        std::string_view{"memchr"},      std::string_view{"getopts"},    std::string_view{"compiler_builtins"},
        std::string_view{"cfg_if"},      std::string_view{"__rustc"},    std::string_view{"rustc_literal_escaper"}};
    return std::find(crates.begin(), crates.end(), crate) != crates.end() || crate.starts_with("rustc_std_workspace_");
}

std::string joined(const std::vector<rust_part>& parts) {
    std::string text;
    for (const rust_part& part : parts) text += (text.empty() ? "" : "::") + part.text;
    return text;
}

void append_utf8(std::string& text, std::uint32_t code) {
    if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000)) throw damaged_symbol{};
    if (code < 0x80) {
        text += static_cast<char>(code);
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::array<unsigned, 4> marks{0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(marks[static_cast<std::size_t>(more)] | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

// Decodes RFC 3492, with `_` in place of `-`.
std::string decode_punycode(std::string_view coded) {
    constexpr std::uint32_t base = 36, least = 1, most = 26;
    std::vector<std::uint32_t> codes;
    const std::size_t split = coded.rfind('_');
    if (split != std::string_view::npos)
        codes.assign(coded.begin(), coded.begin() + static_cast<std::ptrdiff_t>(split));
    std::uint32_t code = 128, bias = 72, at = 0;
    bool first = true;
    for (std::size_t i = split == std::string_view::npos ? 0 : split + 1; i < coded.size();) {
        const std::uint32_t before = at;
        std::uint32_t weight = 1;
        for (std::uint32_t k = base;; k += base) {
            if (i == coded.size() || weight > (1u << 24)) throw damaged_symbol{};
            const char letter = coded[i++];
            const bool is_letter = letter >= 'a' && letter <= 'z';
            if (!is_letter && !(letter >= '0' && letter <= '9')) throw damaged_symbol{};
            const auto digit = static_cast<std::uint32_t>(is_letter ? letter - 'a' : letter - '0' + 26);
            at += digit * weight;
            const std::uint32_t threshold = k <= bias ? least : k >= bias + most ? most : k - bias;
            if (digit < threshold) break;
            weight *= base - threshold;
        }
        const auto count = static_cast<std::uint32_t>(codes.size()) + 1;
        std::uint32_t delta = (at - before) / (first ? 700 : 2);
        first = false;
        delta += delta / count;
        std::uint32_t k = 0;
        for (; delta > (base - least) * most / 2; k += base) delta /= base - least;
        bias = k + (base - least + 1) * delta / (delta + 38);
        code += at / count;
        at %= count;
        codes.insert(codes.begin() + at++, code);
        if (codes.size() > text_max) throw damaged_symbol{};
    }
    std::string text;
    for (const std::uint32_t one : codes) append_utf8(text, one);
    return text;
}

struct path {
    std::vector<rust_part> parts;
    std::string crate;
    bool is_path = true;  // false: a type that is not a path, such as [u8]
};

// Reads the newer mangling from left to right, with a member function for each rule of its grammar; throws
// damaged_symbol.
class v0_reader {
  public:
    explicit v0_reader(std::string_view text) : text_(text) {}

    rust_name run() {
        rust_name name;
        const path read = read_path();
        name.parts = read.parts;
        name.standard = is_standard_crate(read.crate);
        name.carried = carried_;
        name.allocates = allocates_;
        return name;
    }

  private:
    // One level of a rule that may contain itself.
    class level {
      public:
        explicit level(v0_reader& of) : of_(of) {
            if (++of_.depth_ > nesting_max || ++of_.steps_ > steps_max) throw damaged_symbol{};
        }
        level(const level&) = delete;
        level& operator=(const level&) = delete;
        ~level() { --of_.depth_; }

      private:
        v0_reader& of_;
    };

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char next() {
        if (at_ == text_.size()) throw damaged_symbol{};
        return text_[at_++];
    }
    bool take(char letter) {
        if (peek() != letter) return false;
        ++at_;
        return true;
    }

    std::uint64_t read_base62() {
        if (take('_')) return 0;
        std::uint64_t value = 0;
        for (char letter = next(); letter != '_'; letter = next()) {
            const int digit = letter >= '0' && letter <= '9'   ? letter - '0'
                              : letter >= 'a' && letter <= 'z' ? letter - 'a' + 10
                              : letter >= 'A' && letter <= 'Z' ? letter - 'A' + 36
                                                               : -1;
            if (digit < 0) throw damaged_symbol{};
            value = value * 62 + static_cast<std::uint64_t>(digit);  // may wrap: only places are used, which are small
        }
        return value + 1;
    }

    std::uint64_t read_disambiguator() { return take('s') ? read_base62() + 1 : 0; }

    std::string read_plain_identifier() {
        const bool is_punycode = take('u');
        std::size_t length = 0;
        if (peek() < '0' || peek() > '9') throw damaged_symbol{};
        if (take('0')) return {};
        while (peek() >= '0' && peek() <= '9') {
            length = length * 10 + static_cast<std::size_t>(next() - '0');
            if (length > text_.size()) throw damaged_symbol{};
        }
        take('_');
        if (length > text_.size() - at_) throw damaged_symbol{};
        const std::string_view word = text_.substr(at_, length);
        at_ += length;
        return is_punycode ? decode_punycode(word) : std::string(word);
    }

    // Reads the text at an earlier place.
    template <class Rule>
    auto at_earlier(Rule&& rule) {
        const std::size_t here = at_ - 1;
        const std::uint64_t place = read_base62();
        if (place >= here) throw damaged_symbol{};
        const std::size_t resume = at_;
        at_ = place;
        auto read = rule();
        at_ = resume;
        return read;
    }

    path read_path() {
        const level deeper(*this);
        switch (next()) {
            case 'C': {
                read_disambiguator();
                std::string crate = read_plain_identifier();
                return {{{crate, false}}, crate};
            }
            case 'M': {
                const std::string crate = read_impl_crate();
                path type_or_path = read_type();
                if (!type_or_path.is_path) type_or_path.parts = {{"<" + joined(type_or_path.parts) + ">", false}};
                type_or_path.crate = crate;
                return type_or_path;
            }
            case 'X': {
                const std::string crate = read_impl_crate();
                const path type = read_type();
                const path trait = read_path();
                const std::string own = trait.parts.empty() ? std::string() : trait.parts.back().text;
                if (depth_ == 2 && (own == "GlobalAlloc" || own == "Allocator")) allocates_ = true;
                return of_trait(type, trait, crate);
            }
            case 'Y': {
                const path type = read_type();
                const path trait = read_path();
                const bool of_type = type.is_path && !is_standard_crate(type.crate);
                return of_trait(type, trait, of_type ? type.crate : trait.crate);
            }
            case 'N':
                return read_nested();
            case 'I': {
                path read = read_path();
                const std::size_t count = read_arguments();
                if (!read.parts.empty() && !read.parts.back().is_function && count > 0) {
                    std::string arguments = "<_";
                    for (std::size_t i = 1; i < count; ++i) arguments += ", _";
                    read.parts.back().text += arguments + ">";
                }
                return read;
            }
            case 'B':
                return at_earlier([&] { return read_path(); });
            default:
                throw damaged_symbol{};
        }
    }

    std::string read_impl_crate() {
        read_disambiguator();
        return read_path().crate;
    }

    static path of_trait(const path& type, const path& trait, const std::string& crate) {
        if (type.is_path && (!is_standard_crate(type.crate) || is_standard_crate(crate))) return {type.parts, crate};
        return {{{"<" + joined(type.parts) + " as " + joined(trait.parts) + ">", false}}, crate};
    }

    path read_nested() {
        const char space = next();
        path read = read_path();
        const std::uint64_t number = read_disambiguator();
        std::string word = read_plain_identifier();
        if (space >= 'A' && space <= 'Z') {
            const std::string kind = space == 'C' ? "closure" : space == 'S' ? "shim" : std::string(1, space);
            word = "{" + kind + (word.empty() ? "" : ":" + word) + "#" + std::to_string(number) + "}";
        } else if (word.empty()) {
            return read;
        }
        read.parts.push_back({std::move(word), space != 't'});
        if (space == 'C' && carried_.empty() && !is_standard_crate(read.crate)) carried_ = read.parts;
        return read;
    }

    // Returns the number of arguments that are not lifetimes.
    std::size_t read_arguments() {
        std::size_t count = 0;
        while (!take('E')) {
            if (take('L')) {
                read_base62();
                continue;
            }
            if (take('K'))
                read_constant();
            else
                read_type();
            ++count;
        }
        return count;
    }

    static path plain(std::string text) { return {{{std::move(text), false}}, {}, false}; }

    path read_type() {
        const level deeper(*this);
        constexpr std::array<std::string_view, 26> basic{
            "i8",   "bool", "char", "f64", "str", "f32", "",    "u8", "isize", "usize", "",    "i32", "u32",
            "i128", "u128", "_",    "",    "",    "i16", "u16", "()", "...",   "",      "i64", "u64", "!"};
        const char letter = peek();
        if (letter >= 'a' && letter <= 'z') {
            const std::string_view word = basic[static_cast<std::size_t>(letter - 'a')];
            if (word.empty()) throw damaged_symbol{};
            ++at_;
            return plain(std::string(word));
        }
        if (std::string_view("CMXYNI").find(letter) != std::string_view::npos && letter != '\0') return read_path();
        ++at_;
        switch (letter) {
            case 'A':
                read_type();
                read_constant();
                return plain("[_; _]");
            case 'S':
                read_type();
                return plain("[_]");
            case 'T': {
                std::string text = "(";
                while (!take('E')) {
                    read_type();
                    text += text.size() > 1 ? ", _" : "_";
                }
                return plain(text + ")");
            }
            case 'R':
            case 'Q': {
                if (take('L')) read_base62();
                return plain((letter == 'R' ? "&" : "&mut ") + joined(read_type().parts));
            }
            case 'P':
                return plain("*const " + joined(read_type().parts));
            case 'O':
                return plain("*mut " + joined(read_type().parts));
            case 'F':
                return read_signature();
            case 'D':
                return read_dynamic();
            case 'B':
                return at_earlier([&] { return read_type(); });
            default:
                throw damaged_symbol{};
        }
    }

    path read_signature() {
        if (take('G')) read_base62();
        take('U');
        if (take('K') && !take('C')) read_plain_identifier();
        while (!take('E')) read_type();
        read_type();
        return plain("fn");
    }

    path read_dynamic() {
        if (take('G')) read_base62();
        std::string text = "dyn ";
        while (!take('E')) {
            text += (text.size() > 4 ? " + " : "") + joined(read_path().parts);
            while (take('p')) {
                read_plain_identifier();
                read_type();
            }
        }
        if (!take('L')) throw damaged_symbol{};
        read_base62();
        return plain(text);
    }

    bool read_constant() {
        const level deeper(*this);
        if (take('p')) return true;
        if (take('B')) return at_earlier([&] { return read_constant(); });
        if (take('R') || take('Q')) return read_constant();
        if (take('A') || take('T')) return read_constants();
        if (take('V')) {
            read_path();
            switch (next()) {
                case 'U':
                    return true;
                case 'T':
                    return read_constants();
                case 'S':
                    while (!take('E')) {
                        read_disambiguator();
                        read_plain_identifier();
                        read_constant();
                    }
                    return true;
                default:
                    throw damaged_symbol{};
            }
        }
        if (peek() < 'a' || peek() > 'z') throw damaged_symbol{};
        next();
        while (next() != '_') {
        }
        return true;
    }

    bool read_constants() {
        while (!take('E')) read_constant();
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0, steps_ = 0;
    bool allocates_ = false;
    std::vector<rust_part> carried_;
};

// Decodes "$LT$impl$u20$T$GT$" and ".." of the older mangling.
std::string unescaped(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, char>, 8> known{
        {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'}, {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}}};
    if (word.starts_with("_$")) word.remove_prefix(1);
    std::string text;
    while (!word.empty()) {
        if (word.starts_with("..")) {
            text += "::";
            word.remove_prefix(2);
            continue;
        }
        const std::size_t end = word[0] == '$' ? word.find('$', 1) : std::string_view::npos;
        if (end == std::string_view::npos) {
            text += word[0];
            word.remove_prefix(1);
            continue;
        }
        const std::string_view code = word.substr(1, end - 1);
        const auto* const one =
            std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == code; });
        if (one != known.end()) {
            text += one->second;
        } else if (code.starts_with('u') && code.size() > 1 && code.size() < 8) {
            std::uint32_t value = 0;
            for (const char letter : code.substr(1)) {
                const bool is_digit = letter >= '0' && letter <= '9';
                if (!is_digit && !(letter >= 'a' && letter <= 'f')) throw damaged_symbol{};
                value = value * 16 + static_cast<std::uint32_t>(is_digit ? letter - '0' : letter - 'a' + 10);
            }
            append_utf8(text, value);
        } else {
            throw damaged_symbol{};
        }
        word.remove_prefix(end + 1);
    }
    return text;
}

// Returns the place past the bracket that closes the one at `at`.
std::size_t past_bracket(std::string_view text, std::size_t at) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        depth += text[at] == '<' || text[at] == '(' || text[at] == '[';
        const bool closes = text[at] == '>' && (at == 0 || text[at - 1] != '-');
        if ((closes || text[at] == ')' || text[at] == ']') && --depth == 0) return at + 1;
    }
    return text.size();
}

// Splits "alloc::vec::Vec<T, A>" into alloc │ vec │ Vec<_, _>.
path path_in(std::string_view text) {
    path read;
    std::string word;
    for (std::size_t at = 0; at < text.size();) {
        if (text.substr(at, 2) == "::") {
            read.parts.push_back({std::exchange(word, {}), false});
            at += 2;
        } else if (text[at] == '<' && !word.empty()) {
            const std::size_t end = past_bracket(text, at);
            std::size_t count = 1;
            for (std::size_t i = at + 1; i < end; ++i) {
                if (text[i] == '<' || text[i] == '(' || text[i] == '[') i = past_bracket(text, i) - 1;
                count += i < end && text[i] == ',';
            }
            word += "<_";
            while (--count > 0) word += ", _";
            word += ">";
            at = end;
        } else {
            if (std::string_view("&*[( ").find(text[at]) != std::string_view::npos) read.is_path = false;
            word += text[at++];
        }
    }
    read.parts.push_back({std::move(word), false});
    if (!read.is_path) read.parts = {{std::string(text), false}};
    read.is_path = read.is_path && read.parts.size() > 1;
    read.crate = read.is_path ? read.parts[0].text : std::string();
    return read;
}

constexpr std::size_t hash_digits = 16;

// Returns the identifiers of "_ZN4cafe4main17h…E", without the hash; empty for other symbols.
std::vector<std::string_view> legacy_words(std::string_view symbol) {
    std::vector<std::string_view> words;
    if (!symbol.starts_with("_ZN")) return {};
    std::size_t at = 3;
    while (at < symbol.size() && symbol[at] >= '1' && symbol[at] <= '9') {
        std::size_t length = 0;
        while (at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9' && length <= symbol.size())
            length = length * 10 + static_cast<std::size_t>(symbol[at++] - '0');
        if (length > symbol.size() - at) return {};
        words.push_back(symbol.substr(at, length));
        at += length;
    }
    if (words.size() < 2 || symbol.substr(at, 1) != "E") return {};
    const std::string_view hash = words.back();
    if (hash.size() != hash_digits + 1 || hash[0] != 'h' ||
        hash.find_first_not_of("0123456789abcdef", 1) != std::string_view::npos)
        return {};
    words.pop_back();
    return words;
}

// Adds "Trait for Type" or "Type": a type of the program stands for the module of its implementation.
void add_implementation(const std::string& text, std::vector<rust_part>& parts) {
    const std::size_t split = text.rfind(" for ");
    const path type = path_in(std::string_view(text).substr(split == std::string::npos ? 0 : split + 5));
    if (type.is_path && !is_standard_crate(type.crate))
        parts = type.parts;
    else
        parts.push_back({"<" + joined(type.parts) + ">", false});
}

rust_name read_legacy(const std::vector<std::string_view>& words) {
    rust_name name;
    std::string crate;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word = unescaped(words[i]);
        const std::size_t as = word.find(" as ");
        if (word.starts_with('<') && word.ends_with('>') && i == 0) {
            const std::string inside = word.substr(1, word.size() - 2);
            const std::size_t split = inside.rfind(" as ");
            const path type = path_in(inside.substr(0, split));
            const path trait = split != std::string::npos ? path_in(inside.substr(split + 4)) : path{{}, {}};
            const bool of_type = type.is_path && !is_standard_crate(type.crate);
            crate = of_type || as == std::string::npos ? type.crate : trait.crate;
            if (as == std::string::npos && !type.is_path) crate = "core";
            if (type.is_path && (of_type || is_standard_crate(crate)))
                name.parts = type.parts;
            else
                name.parts = {
                    {trait.parts.empty() ? word : "<" + joined(type.parts) + " as " + joined(trait.parts) + ">",
                     false}};
            continue;
        }
        if (i == 0) crate = word;
        if (word == "{{closure}}")
            name.parts.push_back({"{closure}", true});
        else if (word.starts_with("<impl "))
            add_implementation(word.substr(6, word.size() - 7), name.parts);
        else if (i + 1 == words.size())
            name.parts.push_back({word.substr(0, word.find('<', 1)), true});
        else
            name.parts.push_back({joined(path_in(word).parts), false});
    }
    // The part before a closure is the function around it.
    for (std::size_t i = 1; i < name.parts.size(); ++i)
        if (name.parts[i].text == "{closure}") name.parts[i - 1].is_function = true;
    name.standard = is_standard_crate(crate);
    return name;
}

}  // namespace

bool is_rust_symbol(std::string_view symbol) noexcept {
    if (symbol.starts_with("_R"))
        return symbol.size() > 2 && std::string_view("CMXYNIB").find(symbol[2]) != symbol.npos;
    return symbol.starts_with("_ZN") && symbol.size() > hash_digits + 6 &&
           symbol.substr(symbol.size() - hash_digits - 4, 3) == "17h";
}

std::optional<rust_name> read_rust_symbol(std::string_view symbol) {
    if (!is_rust_symbol(symbol)) return std::nullopt;
    try {
        rust_name name;
        if (symbol.starts_with("_R")) {
            name = v0_reader(symbol.substr(2)).run();
        } else {
            const std::vector<std::string_view> words = legacy_words(symbol);
            if (words.empty()) return std::nullopt;
            name = read_legacy(words);
        }
        const std::size_t length = joined(name.parts).size();
        if (length == 0 || length > text_max) return std::nullopt;  // a damaged one may spell a name of no letters
        name.parts.back().is_function = true;
        return name;
    } catch (const damaged_symbol&) {
        return std::nullopt;
    }
}

}  // namespace millpond::symbols
