// SPDX-License-Identifier: BSL-1.0
#include "lab/symbols/owner.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "lab/symbols/allocation_names.hpp"
#include "lab/symbols/demangle.hpp"
#include "lab/symbols/demangled_name.hpp"
#include "lab/symbols/rust_name.hpp"

namespace millpond::symbols {
namespace {

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& words, std::string_view word) noexcept {
    for (const std::string_view known : words) {
        if (known == word) return true;
    }
    return false;
}

bool is_digits(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether the word is a suffix that compilers and linkers append to a part or a copy of a function, after a dot
// and often followed by a number.
bool is_part_suffix(std::string_view word) noexcept {
    constexpr std::array suffixes{
        std::string_view{"cold"},        std::string_view{"part"},       std::string_view{"constprop"},
        std::string_view{"isra"},        std::string_view{"lto_priv"},   std::string_view{"llvm"},
        std::string_view{"clone"},       std::string_view{"localalias"}, std::string_view{"resolver"},
        std::string_view{"_omp_fn"},     std::string_view{"_omp_cpyfn"}, std::string_view{"default"},
        std::string_view{"unlikely"},    std::string_view{"split"},      std::string_view{"outlined"},
        std::string_view{"specialized"}, std::string_view{"__uniq"},     std::string_view{"ifunc"}};
    return contains(suffixes, word) || word.starts_with("arch_") || word.starts_with("avx") || word.starts_with("sse");
}

bool is_standard_scope(std::string_view scope) noexcept {
    constexpr std::array scopes{
        std::string_view{"std"},         std::string_view{"__gnu_cxx"},      std::string_view{"__cxxabiv1"},
        std::string_view{"__gnu_debug"}, std::string_view{"__gnu_parallel"}, std::string_view{"__pstl"}};
    return contains(scopes, scope);
}

bool is_start_up(std::string_view name) noexcept {
    constexpr std::array names{std::string_view{"_start"},
                               std::string_view{"_init"},
                               std::string_view{"_fini"},
                               std::string_view{"__libc_csu_init"},
                               std::string_view{"__libc_csu_fini"},
                               std::string_view{"__libc_start_main"},
                               std::string_view{"frame_dummy"},
                               std::string_view{"register_tm_clones"},
                               std::string_view{"deregister_tm_clones"},
                               std::string_view{"__do_global_dtors_aux"},
                               std::string_view{"_dl_relocate_static_pie"}};
    return contains(names, name);
}

bool is_new_or_delete(std::string_view name) noexcept {
    return name == "operator new" || name == "operator new[]" || name == "operator delete" ||
           name == "operator delete[]";
}

bool is_inline_scope(std::string_view scope) noexcept { return scope == "__cxx11" || scope == "__1"; }

// Returns whether a library function enters code given to a thread or a std::function.
bool is_invoker(std::string_view name) noexcept {
    constexpr std::array names{
        std::string_view{"_M_run"},     std::string_view{"_M_invoke"},      std::string_view{"__invoke"},
        std::string_view{"__invoke_r"}, std::string_view{"__invoke_impl"},  std::string_view{"operator()"},
        std::string_view{"_M_call"},    std::string_view{"__thread_proxy"}, std::string_view{"__call"}};
    return contains(names, name);
}

// Returns the lambda among template arguments, at any depth: "audit(int)::{lambda()#1}". Empty if there are no lambdas.
std::string_view lambda_among(std::string_view text) {
    for (std::size_t open = text.find('<'); open != std::string_view::npos; open = text.find('<', open)) {
        const std::size_t end = skip_brackets(text, open);
        for (std::string_view argument : split_arguments(text.substr(open, end - open))) {
            if (argument.find("{lambda(") == std::string_view::npos) continue;
            if (argument.starts_with("std::")) {
                if (const std::string_view inner = lambda_among(argument); !inner.empty()) return inner;
                continue;
            }
            while (argument.ends_with('&') || argument.ends_with(' ')) argument.remove_suffix(1);
            if (argument.ends_with(" const")) argument.remove_suffix(6);
            return argument;
        }
        open = end;
    }
    return {};
}

// Returns the identifiers at the beginning of a symbol in std:: that this demangler cannot read (newer compilers use
// more than it knows): "std::allocate_shared". Empty for other symbols.
std::string standard_beginning(std::string_view symbol) {
    std::size_t at = 2;
    if (symbol.substr(at, 1) == "N") ++at;
    while (at < symbol.size() && std::string_view("rVKRO").find(symbol[at]) != std::string_view::npos) ++at;
    if (symbol.substr(at, 2) != "St") return {};
    std::string name = "std";
    at += 2;
    while (at < symbol.size() && std::isdigit(static_cast<unsigned char>(symbol[at])) != 0) {
        std::size_t length = 0;
        while (at < symbol.size() && length < symbol.size() &&
               std::isdigit(static_cast<unsigned char>(symbol[at])) != 0)
            length = 10 * length + static_cast<std::size_t>(symbol[at++] - '0');
        const std::string_view word = symbol.substr(std::min(at, symbol.size()), length);
        if (!is_inline_scope(word)) name += "::" + std::string(word);
        at += length;
    }
    return name == "std" ? std::string() : name;
}

std::string join(const std::vector<name_part>& parts, std::size_t past, std::size_t leaf) {
    std::string joined;
    for (std::size_t i = 0; i < past; ++i) {
        if (!joined.empty()) joined += "::";
        joined += parts[i].name;
        if (!parts[i].is_function && i != leaf) joined += parts[i].arguments;
    }
    return joined;
}

// Drops the hash that Rust adds to each name of the older kind, so that two builds of one program give the same names.
void drop_hash(std::vector<name_part>& parts) {
    if (parts.size() < 2 || parts.back().is_function) return;
    const std::string& last = parts.back().name;
    if (last.size() == 17 && last[0] == 'h' && last.find_first_not_of("0123456789abcdef", 1) == std::string::npos)
        parts.pop_back();
}

ownership own_plain(std::string_view name) {
    ownership result{std::string(name), std::string(name)};
    result.allocation = is_allocation_function(name);
    result.standard = result.allocation || is_start_up(name) || name.starts_with("__rust_") ||
                      name.starts_with("__rdl_") || name.starts_with("__rg_");
    return result;
}

std::string joined(const std::vector<rust_part>& parts, std::size_t past) {
    std::string text;
    for (std::size_t i = 0; i < past; ++i) text += (i > 0 ? "::" : "") + parts[i].text;
    return text;
}

// Returns whether a compiler inlines a program's closure into this library function.
bool is_rust_invoker(std::string_view name) noexcept {
    constexpr std::array names{std::string_view{"call_once"}, std::string_view{"call_mut"}, std::string_view{"call"},
                               std::string_view{"do_call"}, std::string_view{"lang_start"}};
    return contains(names, name) || name.starts_with('{') || name.starts_with("__rust_begin_short_backtrace");
}

// Returns the owner: a function at the root of a crate owns itself, as a C++ function outside of namespaces does.
ownership own_rust(const rust_name& name) {
    if (name.standard && !name.carried.empty() && is_rust_invoker(name.parts.back().text))
        return own_rust({name.carried, false, false, {}});
    std::size_t leaf = 0;
    while (leaf + 1 < name.parts.size() && !name.parts[leaf].is_function) ++leaf;
    const bool in_scope = leaf > 1 || (leaf == 1 && name.parts[0].text.starts_with('<'));
    ownership result{joined(name.parts, name.parts.size()), joined(name.parts, in_scope ? leaf : leaf + 1),
                     in_scope ? owner_kind::type : owner_kind::function};
    result.allocation = name.allocates;
    result.standard = name.standard || name.allocates;
    return result;
}

ownership own_dotted(const dotted_name& name) {
    ownership result;
    for (std::size_t i = 0; i < name.parts.size(); ++i) {
        if (i + 1 == name.parts.size()) result.owner = result.name;
        result.name += (i > 0 ? "." : "") + name.parts[i];
    }
    if (!name.is_member) result.owner = result.name;
    result.kind = name.is_member ? owner_kind::type : owner_kind::function;
    result.standard = name.standard;
    return result;
}

ownership cut(ownership whole) {
    if (whole.name.size() > name_bytes_max) whole.name = cut_name(whole.name);
    if (whole.owner.size() > name_bytes_max) whole.owner = cut_name(whole.owner);
    return whole;
}

}  // namespace

namespace {
ownership own_whole(std::string_view demangled);
}

std::string_view kind_name(owner_kind kind) noexcept {
    constexpr std::array<std::string_view, 4> names{"type", "function", "module", "unnamed"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view without_suffixes(std::string_view symbol) noexcept {
    if (const std::size_t version = symbol.find('@'); version != std::string_view::npos && version > 0)
        symbol = symbol.substr(0, version);
    for (;;) {
        const std::size_t dot = symbol.rfind('.');
        if (dot == std::string_view::npos || dot == 0) return symbol;
        std::string_view word = symbol.substr(dot + 1);
        std::size_t keep = dot;
        if (is_digits(word)) {  // `.part.3`: the word stands before its number
            const std::size_t before = symbol.rfind('.', dot - 1);
            if (before == std::string_view::npos || before == 0) return symbol.substr(0, dot);
            word = symbol.substr(before + 1, dot - before - 1);
            keep = is_part_suffix(word) ? before : dot;
        } else if (!is_part_suffix(word)) {
            return symbol;
        }
        symbol = symbol.substr(0, keep);
    }
}

ownership own(std::string_view symbol) {
    symbol = without_suffixes(symbol);
    if (const auto rust = read_rust_symbol(symbol)) return cut(own_rust(*rust));
    if (!symbol.starts_with("_Z")) {
        const auto dotted = read_dotted_symbol(symbol);
        return cut(dotted ? own_dotted(*dotted) : own_plain(symbol));
    }
    if (const std::string name = demangled(symbol); !name.empty()) return own_demangled(name);
    if (std::string beginning = standard_beginning(symbol); !beginning.empty())
        return {beginning, beginning, owner_kind::function, true, false};
    return cut(own_plain(symbol));
}

ownership own_demangled(std::string_view demangled) { return cut(own_whole(demangled)); }

namespace {

ownership own_whole(std::string_view demangled) {
    std::vector<name_part> parts = split_demangled(demangled);
    drop_hash(parts);
    if (parts.empty()) return own_plain(demangled);
    std::erase_if(parts, [](const name_part& part) { return is_inline_scope(part.name); });
    if (parts.empty()) return own_plain(demangled);

    // The outermost function around everything else: the last part, except for lambdas and local classes.
    std::size_t leaf = 0;
    while (leaf + 1 < parts.size() && !parts[leaf].is_function) ++leaf;
    if (parts.size() > 1 && parts[0].name == "main" && parts[1].name.starts_with('{')) leaf = 0;
    std::size_t scopes = leaf;
    for (std::size_t i = 0; i < leaf; ++i) {
        if (parts[i].name.starts_with('{')) scopes = i < scopes ? i : scopes;  // a lambda of a class or a namespace
    }

    ownership result;
    result.name = join(parts, parts.size(), leaf);
    if (scopes > 0) {
        result.owner = join(parts, scopes, parts.size());
        result.kind = owner_kind::type;
    } else {
        result.owner = parts[0].name;
        result.kind = owner_kind::function;
    }

    const std::string& own_name = parts[leaf].name;
    if (leaf > 0 && is_standard_scope(parts[0].name)) {
        result.standard = true;
        if (is_invoker(parts.back().name)) {
            if (const std::string_view lambda = lambda_among(demangled); !lambda.empty())
                return own_whole(std::string(lambda) + "::operator()()");
        }
    } else if (is_new_or_delete(own_name) || (leaf == 0 && is_start_up(own_name))) {
        result.standard = true;
    } else {
        result.allocation =
            leaf == 0 ? is_allocation_function(own_name) : is_allocation_member(own_name, parts[leaf - 1].name);
        result.standard = result.allocation;
    }
    return result;
}

}  // namespace

}  // namespace millpond::symbols
